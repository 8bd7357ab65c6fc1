// Package catalog knows the present model: that of the program, and what
// administrators have added to it, which lies in rows.
//
// A Catalog reads the rows, keeps the model, and looks every half second whether
// its generation, the row 'model' of the table sequence, has moved. Whoever writes
// a row of the model raises that number in its transaction (Raise), so that
//
//	the generation that a model was read at  ==  the generation in the database
//
// says of a model, under a lock of the row, that it is the present one.
//
//	c := catalog.New(d, meta.Default(), catalog.Options{OnChange: use})
//	err := c.Refresh(ctx) // now, and before the answer to who changed it
//	go c.Run(ctx)         // and each half second
//
// It checks nothing: a row that does not fit the model is left out and logged.
package catalog
