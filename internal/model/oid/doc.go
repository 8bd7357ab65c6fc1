// Package oid implements the identifier of assets: the Oid token of interface 2.1.
package oid
