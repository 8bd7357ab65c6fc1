// Package system has the pages about the installation, for system administrators.
//
// Spec: interface 4.16.
package system
