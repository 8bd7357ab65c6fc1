// Package oid implements the identifier of assets: the Oid token of docs/interface.md, section 2.1.
package oid
