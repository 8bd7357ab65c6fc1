// Package spectest runs the specification: every documented behaviour is a
// text case under testdata/<section>/*.txtar, and every case runs against the
// whole service in this process, once on MariaDB with Redis and once on the
// embedded parts.
//
// Cases run at the same time on one service, since each has a project and words of its
// own. A third header line, "alone:", says why a case cannot: it then runs while no
// other does, as one that reads the last events of the audit.
//
// A case opens with its sentence and two header lines, then steps:
//
//	An unknown attribute fails its own command; the request still answers 200.
//	spec: bulk / failures
//	source: interface 7.2
//	-- request --
//	POST /api/asset
//
//	{"from": "Scope", "select": ["MuddleBubble"]}
//	-- response --
//	200
//	-- body contains --
//	{"queryResult": {"results": [], "count": -1}}
//
// Sections:
//
//	request        method and path below the instance, headers, blank line, body
//	response       status, then headers that must be there
//	body           the whole answer as JSON
//	body contains  members the answer must have; lists have the same length,
//	               unless they end in "<rest>"; "<absent>" forbids a member
//	body becomes   like body contains; the request is sent again until it holds
//	body text      the answer's text, without white space at its ends
//	capture        lines "name = path.to.0.value" from the last answer; of XML,
//	               "name = @id" is an attribute of its root
//	later          waits, so that the changes before and after are not made in
//	               the same millisecond
//	received       the events this case's receiver got so far, in the order of
//	               their sequenceId; waits for as many as are listed
//	deliveries     the HTTP requests the receiver got, as
//	               {method, path, headers, body}; waits likewise
//	signed         a list of the secrets of each delivery so far; the library
//	               published for receivers verifies one signature by each
//
// {{name}} stands for a captured value, {{name.id}} for the number in a
// captured Oid, {{name.moment}} for its moment. Each case starts with {{scope}}, a project of its own;
// {{receiver}}, the URL of its receiver, which answers 200, and under
// /answers/500,410 the first request 500 and all others 410; {{word}}, a word no other case has;
// {{basic}}, the Authorization of a member called {{word}} whose password is
// pass-{{word}}, {{basic2}} and {{basic3}} those of {{word}}-2 and {{word}}-3 with
// the same password; and {{token}}, an access token of Member:20. In what is expected, <uuid>,
// <time>, <id> and <any> stand for text of that form; a string that is only
// "<any>" or "<number>" stands for any value or number.
//
// The examples of README.md and docs/interface.md are executed too, by
// TestExamples: fenced blocks whose first line says "http request", "http
// answer" (the whole answer; "http answer later" asks until it is so) or "json
// deliveries" (since the last block of that kind), and curl commands, which must
// succeed. In them <name> keeps what first stands there and stands for it from
// then on.
//
// Requests that must be refused are lines of tables, testdata/<section>/*.bad,
// each sent in every form it can have: see badTable. TestCoverage and TestRows print
// which parts of the interface have how many cases.
//
// With -short a server gets a part of the requests that must be refused and of the
// hostile values, drawn by -seed; SQLite gets all.
package spectest
