// Package attack does to alds what attackers, greedy members and broken clients
// do, and asserts what everybody else sees meanwhile.
//
// The commands run as processes: standalone on SQLite, and an api on MariaDB or
// MySQL. The attacker comes from 127.0.0.2, the second member from 127.0.0.1:
// who reads a page of 50 and one asset in turn while the attack lasts, the latter by
// a new connection each time. What is asserted is counted, so that it holds on a busy
// machine, too:
//
//   - each read of the second member, /healthz and /metrics are answered 200, while
//     the attack goes on;
//   - a read waits for a bounded number of answers to the attacker: its turns;
//   - metrics of the process stay within bounds at every look: memory taken by bodies
//     and answers, requests that run, connections, connections to the database,
//     passwords that are checked before a member's;
//   - the memory of the process stays under the figure that each test names and comes
//     back, and the process lives.
//
// With -short each attack lasts until the second member has read 20 times, tests run
// beside each other, and what does not depend on the database runs on one. In the long
// form reads are timed as well: 99 in 100 must be within three times of their quiet
// time, or within a floor that is stated, and /healthz must answer within a second.
//
// TestHeavyAsynchronousRequests lets 20 members work as people do beside 60 asynchronous
// requests of the heaviest kinds, in the long form alone:
//
//	go test ./internal/test/attack -run HeavyAsynchronous -v -timeout 2h -attack.load 10m -attack.limit 30s
//
// TestFuzzRequests sends mutations of valid requests:
//
//	go test ./internal/test/attack -run Fuzz -v -timeout 30m -attack.fuzz 10m -attack.seed 7
package attack
