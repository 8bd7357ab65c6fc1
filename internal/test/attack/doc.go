// Package attack sends to alds what attackers, greedy members and broken clients send. During each attack
// it checks that other clients still get their answers.
//
// The tests start standalone on SQLite, and an api on MariaDB or MySQL. The attacker connects from
// 127.0.0.2. A second member, who does not attack, connects from 127.0.0.1. During the attack, the second
// member reads a page of 50 stories and a single asset in turn. The asset is read on a new connection each
// time. The tests compare counts, so they also pass on a busy machine:
//
//   - Each read of the second member, /healthz and /metrics are answered 200 during the attack.
//   - While a read of the second member waits, the server answers only a limited number of the attacker's
//     requests.
//   - Metrics of the process stay within limits: memory for bodies and answers, running
//     requests, connections, database connections, and passwords that are checked before
//     the password of a member.
//   - The memory of the process stays under the limit of the test, and falls after the attack.
//   - The process does not end.
//
// With -short, each attack ends when the second member has read often enough (see leastReads). Tests run in
// parallel. Tests that do not depend on the database run on only one database.
//
// Without -short, the tests also measure the time of each read. 99 of 100 reads may take at most three
// times as long as without an attack, or at most the constant floor, if that is longer. /healthz must
// answer within a second.
//
// TestHeavyAsynchronousRequests runs only without -short. 20 members do ordinary work while 60 asynchronous
// requests of the heaviest kinds run:
//
//	go test ./internal/test/attack -run HeavyAsynchronous -v -timeout 2h -attack.load 10m -attack.limit 30s
//
// TestFuzzRequests sends randomly changed copies of valid requests:
//
//	go test ./internal/test/attack -run Fuzz -v -timeout 30m -attack.fuzz 10m -attack.seed 7
package attack
