package main

// bulk shows requests that write many assets.
var bulk = board{
	"bulk", "Bulk", "Requests of the bulk interface, carried out at once or accepted for later.",
	[]row{
		{"Requests", []panel{
			graph("Answers", "By status; 202: accepted for later.", requests, rate(`alds_httpapi_request_duration_seconds_count{route="api/asset", method="POST"}`, "status")),
			graph("Carried out", "At once in an api, and accepted ones in a worker.", requests, rate("alds_bulk_request_seconds_count", "instance")),
			graph("Duration", "What 50, 95 and 99 of 100 stay below, from the parsed request to its response.", seconds, spread("alds_bulk_request_seconds")...),
			graph("Accepted requests", "By outcome: done, refused, again (tried later), handed_back at the end of a worker, lost to another worker.", requests, rate("alds_bulk_async_total", "outcome")),
		}},
		{"Commands", []panel{
			graph("By verb", "Each asset of an update by query counts, and so do nested commands.", perSecond, rate("alds_bulk_commands_total", "verb")),
			graph("Failed", "By verb. What a client did wrong; others of its request may be done.", perSecond, rate(`alds_bulk_commands_total{result="failed"}`, "verb")),
			graph("Commands of a request", "On average.", count,
				query{`sum(rate(alds_bulk_commands_total{` + these + `}[$__rate_interval])) / sum(rate(alds_bulk_request_seconds_count{` + these + `}[$__rate_interval]))`, "commands"}),
		}},
	},
}
