// Package attack does to alds what attackers, greedy members and broken clients
// do, and asserts what everybody else sees meanwhile.
//
// The commands run as processes: standalone on SQLite, and an api on MariaDB or
// MySQL. The attacker comes from 127.0.0.2, the second member from 127.0.0.1:
// who reads a page of 50 and one asset in turn, first in quiet and then during
// the attack. Of these reads 99 in 100 must be within three times of their quiet
// time, or within a floor that is stated, /healthz must answer within a second,
// the process must live, and its memory stay under the figure that each test
// names and come back.
//
// TestFuzzRequests sends mutations of valid requests:
//
//	go test ./internal/test/attack -run Fuzz -v -timeout 30m -attack.fuzz 10m -attack.seed 7
package attack
