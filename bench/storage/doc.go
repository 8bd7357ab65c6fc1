// Package storage has the benchmarks for one decision: asset_version stores every version
// including the current one, not only superseded versions.
//
//	go test ./bench/storage -run '^$' -bench . -benchtime 5x
//
// Each benchmark reads or writes the real tables on MySQL or MariaDB with hand-written SQL. So
// the results are floors, not results of the engines.
package storage
