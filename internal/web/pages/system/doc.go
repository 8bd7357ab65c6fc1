// Package system makes the pages about the installation, for administrators.
//
// Spec: interface 4.16.
package system
