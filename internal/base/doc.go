// Package base is the folder of packages that every part of alds may use: errors, documents,
// folding of texts, TLS settings, traces and the release number.
//
// No package here imports another folder of internal or stores data of users. Start with package
// fault, the error type.
package base
