// Package catalog keeps the current model. This is the model of the program, extended by the rows
// that administrators have added.
//
// A Catalog reads the rows and keeps the model. Every half second it checks the generation of
// the model, which is the row 'model' of the table sequence. A transaction that writes a row
// of the model raises the generation (Raise). A model is current if its generation equals the
// generation in the database, read while the row is locked.
//
//	c := catalog.New(d, meta.Default(), catalog.Options{OnChange: use})
//	err := c.Refresh(ctx) // at the start, and before the answer to a change of the model
//	go c.Run(ctx)         // every half second
//
// The package does not validate new rows. It leaves out a row that does not fit the model, and
// logs it.
package catalog
