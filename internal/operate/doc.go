// Package operate contains the packages for administrators. They serve health and metrics, show the
// state of the installation, check and repair the database, export and restore it, and localize
// texts.
//
// None of these packages changes an asset through the write engine. To read the code, start with
// package system for the running service, and with package check for the data.
package operate
