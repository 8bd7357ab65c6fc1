// Package operate contains the packages for administrators: health and metrics, the state of
// the installation, check and repair, export and restore, and localized texts.
//
// None of them changes an asset through the write engine. To read the code, start with
// package system for the running service and with package check for the data.
package operate
