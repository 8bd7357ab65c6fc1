package main

// api shows requests and queries, their bounds, and logins.
var api = board{
	"api", "API", "Requests and queries, what bounds them, and who signs in.",
	[]row{
		{"Requests", []panel{
			graph("By status", "Answers.", requests, rate("alds_httpapi_request_duration_seconds_count", "status")),
			graph("By route", "The ten with most.", requests, most(rate("alds_httpapi_request_duration_seconds_count", "route"))),
			graph("Latency by route", "What 95 of 100 requests stay below, of the ten slowest routes. Not those that wait on purpose: readers of the feed, and who is not signed in.", seconds, most(slow(atOnce, "route"))),
			graph("Being answered", "running: engines work on them. waiting: for their member's turn, or for memory.", whole,
				sum("alds_httpapi_requests_in_flight").as("all"), sum("alds_httpapi_requests_running").as("running"), sum("alds_httpapi_requests_waiting").as("waiting")),
			graph("Bodies", "Of requests, and of their answers.", bytesASecond, rate("alds_httpapi_received_bytes_total", "").as("received"), rate("alds_httpapi_sent_bytes_total", "").as("sent")),
			graph("Large answers broken off", "In an hour, by who ended them. server: an alert.", whole, lastHour("alds_httpapi_broken_answers_total", "by")),
			graph("Panics", "In an hour. Each is a defect, logged with its stack: an alert.", whole, lastHour("alds_httpapi_panics_total", "").as("panics")).above(0, 1),
		}},
		{"Queries", []panel{
			graph("Latency by stage", "What 95 of 100 stay below: to plan a query, and to read its rows and hand them over.", seconds, slow("alds_find_duration_seconds", "stage")),
			graph("Rows answered", "Without those of nested selects.", perSecond, rate("alds_find_rows_total", "").as("rows")),
			graph("Plans", "kept: one of the same shape was there. made: now there is. single: for the one query alone.", perSecond, rate("alds_find_plans_total", "from")),
		}},
		{"Bounds", []panel{
			graph("Memory of requests", "Share of ALDS_BODY_MEMORY that bodies and answers take.", share, part("alds_httpapi_memory_bytes", "alds_httpapi_memory_limit_bytes")).above(0.75, 0.9),
			graph("Connections of clients", "Open now.", whole, gauge("alds_inbound_connections")),
			graph("Connections accepted", "Few with many requests: clients keep theirs.", perSecond, rate("alds_inbound_connections_total", "").as("accepted")),
			graph("Connections turned away", "In an hour. idle: closed to make room. all, address, shortage: not taken, by the bound that they met.", whole,
				lastHour("alds_inbound_evicted_total", "").as("idle"), lastHour("alds_inbound_refused_total", "bound")).above(0, 1),
			graph("Readers of the feed", "That wait for changes, live streams included. A process takes 256.", whole, gauge("alds_httpapi_feed_readers_waiting")).above(192, 256),
			graph("Events of the feed", "That its readers were given.", perSecond, rate("alds_httpapi_feed_events_total", "").as("events")),
		}},
		{"Logins", []panel{
			graph("Signed in", "By scheme: passwords (basic) and access tokens (bearer).", perSecond, rate(`alds_auth_logins_total{outcome=~"remembered|verified"}`, "scheme")),
			graph("Not signed in", "refused, unknown, slowed: an alert above one a second together. failed: by a failure of the service.", perSecond, rate(`alds_auth_logins_total{outcome!~"remembered|verified"}`, "outcome")).above(0, 1),
			graph("Password checks", "What 95 of 100 stay below: the check, and the wait for it.", seconds,
				slow("alds_auth_password_check_seconds", "").as("check"), slow("alds_auth_login_wait_seconds", "").as("wait")),
			graph("Audit", "Sign-ins, refused ones and denials that were noted.", perSecond, rate("alds_trail_noted_total", "kind")),
			graph("Audit: only counted", "In an hour, since too many different ones came in a minute.", whole, lastHour("alds_trail_dropped_total", "kind")).above(0, 1),
		}},
	},
}
