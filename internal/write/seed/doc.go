// Package seed fills a new database, and updates a database to the model of the program.
//
// It adds the well-known assets of the model, such as Scope:0, the roles and the values of lists. It
// also writes the rows that describe the model: its types, attributes and operations. A new database
// gets all of them at moment 0. An upgrade writes only the differences, as normal changes. It does not
// undo changes that members have made.
package seed
