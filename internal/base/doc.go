// Package base is the folder of what every part of alds may use: errors, documents,
// traces and the release number.
//
// Nothing here imports another folder of internal, opens a connection or holds data of
// users. Start with fault, the one error type.
package base
