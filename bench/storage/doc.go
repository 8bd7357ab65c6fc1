// Package storage holds the measurement behind one decision: asset_version
// keeps every version, the current one included, rather than only those that
// were superseded.
//
//	go test ./bench/storage -run '^$' -bench . -benchtime 5x
//
// Each benchmark writes or reads the real tables on MySQL or MariaDB by
// hand-written SQL, so the figures are floors, not those of the engines.
package storage
