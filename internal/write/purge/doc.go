// Package purge removes the data of custom attributes and lists that administrators have deleted
// with their data.
//
// The operation DeleteWithData deletes the definition of an attribute or list. After that, no
// attribute and no list of the model refers to the data. In the same transaction the operation
// calls Add. Run then removes the data: values of assets and of their versions, and links. It
// works in steps, and each step is one short transaction. The rows of assets and of versions
// stay, so every audit row still has its versions.
package purge
