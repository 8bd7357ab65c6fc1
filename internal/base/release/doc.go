// Package release has the number of this release, and the order of release numbers.
//
//	release.Rank("0.2.0") > release.Rank("0.1.0+20261122.c129ddd40dd1")
package release
