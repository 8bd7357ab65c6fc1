// Package spectest runs the specification. Every documented behaviour is a text case,
// testdata/<section>/*.txtar. Every case runs against the whole service in this process, once on
// a MariaDB or MySQL server with Redis, and once on the embedded parts.
//
// Cases run at the same time on one service, because each has its own project and words. A third
// header line, "alone:", gives the reason why a case cannot do that. It then runs while no other
// case runs, for example because it reads the last events of the audit.
//
// A case begins with a sentence and two header lines. Its steps follow:
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
//	response       status, then headers that the response must have
//	body           the whole answer as JSON
//	body contains  members that the answer must have; lists have the same length,
//	               unless they end in "<rest>"; "<absent>" forbids a member
//	body becomes   like body contains; the request is repeated until it holds
//	body text      the text of the answer, without white space at its ends
//	capture        lines "name = path.to.0.value" from the last answer; for XML,
//	               "name = @id" is an attribute of its root
//	later          waits, so that the changes before and after it are not made in
//	               the same millisecond
//	received       the events that the receiver of this case got so far, in the order
//	               of their sequenceId; waits for as many as are listed
//	deliveries     the HTTP requests that the receiver got, as
//	               {method, path, headers, body}; also waits
//	signed         a list of the secrets of each delivery so far; the library
//	               published for receivers verifies one signature with each
//
// {{name}} is replaced by a captured value, {{name.id}} by the number in a captured Oid, and
// {{name.moment}} by its moment. Each case begins with these values:
//
//	{{scope}}     a new project
//	{{receiver}}  the URL of its receiver, which answers 200; below /answers/500,410 it
//	              answers the first request with 500 and all others with 410
//	{{word}}      a word that no other case has
//	{{basic}}     the Authorization of a member called {{word}} with the password
//	              pass-{{word}}; {{basic2}} and {{basic3}} are for {{word}}-2 and {{word}}-3,
//	              with the same password
//	{{token}}     an access token of Member:20
//
// In expected values, <uuid>, <time>, <id> and <any> match text of that form. A string that is
// only "<any>" matches any value, and one that is only "<number>" matches any number.
//
// TestExamples also executes the examples of README.md and docs/interface.md. An example is a
// curl command, which must succeed, or a fenced block whose first line names one of these kinds:
//
//	http request
//	http answer        the whole answer
//	http answer later  the same; the request is repeated until the answer is equal
//	json deliveries    the deliveries since the last block of this kind
//
// A <name> in the examples gets its value where it first appears, and means this value from then
// on.
//
// Requests that must be refused are lines of tables, testdata/<section>/*.bad. Each line is sent
// in every form it can have: see badTable. TestCoverage and TestRows log how many cases each part
// of the interface has.
//
// With -short, a server gets only some of the requests that must be refused, and some of the
// hostile values. The flag -seed selects them. SQLite gets all.
package spectest
