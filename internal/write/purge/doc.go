// Package purge removes the data of custom attributes and lists that administrators have deleted with
// their data.
//
// The operation DeleteWithData deletes a definition: no attribute and no list of the model refers to
// its data any more. In the same transaction it calls Add. Run then removes the data in steps of one
// short transaction each: values of assets and of their versions, and links. Rows of assets and of
// versions stay, so every audit still has its versions.
package purge
