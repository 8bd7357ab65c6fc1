// Package catalog keeps the current model: that of the program, extended by the rows that
// administrators have added.
//
// A Catalog reads the rows and keeps the model. Every half second it checks the generation of
// the model, which is the row 'model' of the table sequence. A transaction that writes a row
// of the model raises the generation (Raise). So a model is current if its generation equals
// that in the database, read under a lock of the row.
//
//	c := catalog.New(d, meta.Default(), catalog.Options{OnChange: use})
//	err := c.Refresh(ctx) // now, and before a request that changed the model is answered
//	go c.Run(ctx)         // every half second
//
// It validates nothing: a row that does not fit the model is left out and logged.
package catalog
