// Package release has the number of this release, the order of release numbers, and the source
// of this program.
//
//	release.Rank("0.2.0") > release.Rank("0.1.0+20261122.c129ddd40dd1")
//	release.Version() == "0.2.0+20261122.c129ddd40dd1"
package release
