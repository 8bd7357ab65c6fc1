// Package spectest runs the specification. Every documented behavior is a text case,
// testdata/<section>/*.txtar. The cases run against the whole service in this process: once on a MariaDB or
// MySQL server with Redis, and once on SQLite without other servers.
//
// Cases run at the same time on one service, because each case has its own project and words. If a case
// cannot do that, its third header line "alone:" gives the reason. Such a case runs while no other case
// runs. An example is a case that reads the latest events of the audit.
//
// A case begins with a sentence and two header lines. The sections follow, which are its steps:
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
// The sections are:
//
//	request        method and path below the instance, headers, blank line, body
//	response       status, then headers that the answer must have
//	body           the whole answer as JSON
//	body contains  JSON members that the answer must have; lists must have the same length,
//	               unless they end in "<rest>"; "<absent>": the answer must not have
//	               the member
//	body becomes   like body contains; the request is repeated until the answer is so
//	body text      the text of the answer, without white space at its ends
//	capture        lines "name = path.to.0.value" that store values of the last answer;
//	               for XML, "name = @id" stores an attribute of the root element
//	later          waits, so that changes before it and changes after it do not happen
//	               in the same millisecond
//	received       the events that the receiver of this case must have, in the order of
//	               their sequenceId; waits until there are so many
//	deliveries     the HTTP requests that the receiver must have got, as
//	               {method, path, headers, body}; also waits
//	signed         for each delivery so far, a list of secrets; the library that is
//	               published for receivers verifies one signature with each secret
//
// {{name}} is replaced by a captured value, {{name.id}} by the number in a captured Oid, and
// {{name.moment}} by the moment in it. Each case has these values from the beginning:
//
//	{{scope}}     a new project
//	{{receiver}}  the URL of the case's receiver, which answers 200; below it,
//	              /answers/500,410 answers the first request 500 and all others 410
//	{{word}}      a word that no other case has
//	{{basic}}     the header Authorization for a member whose username is {{word}} and
//	              whose password is pass-{{word}}; {{basic2}} and {{basic3}} are for the
//	              usernames {{word}}-2 and {{word}}-3, with the same password
//	{{token}}     an access token of Member:20
//
// In expected values, <uuid>, <time>, <id> and <any> match a text of that form. A string that consists of
// "<any>" matches every value. A string that consists of "<number>" matches every number.
//
// TestExamples also executes the examples in README.md and docs/interface.md. An example is a curl command,
// which must succeed, or a fenced block of one of these kinds. The kind is the text after the fence:
//
//	http request
//	http answer        the whole answer
//	http answer later  the same; the request is repeated until it gets this answer
//	json deliveries    the deliveries since the last block of this kind
//
// A <name> in the examples gets its value from the first answer or delivery in which it occurs. In all
// later examples it stands for this value.
//
// Requests that must be refused are lines of tables, testdata/<section>/*.bad. Each line is sent in every
// form that is possible for it (see badTable). TestCoverage and TestRows log how many cases each part of
// the interface has.
//
// With -short, the service on MariaDB or MySQL gets only some of the requests that must be refused, and
// some of the hostile values. The seed of the flag -seed decides which. The service on SQLite gets all.
package spectest
