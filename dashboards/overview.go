package main

// overview is the dashboard to look at first.
var overview = board{
	"overview", "Overview", "Is it up, of which version, and the golden signals: latency, traffic, errors and saturation.",
	[]row{
		{"Is it up?", []panel{
			number("APIs", "That the database has seen in the last minute.", known("alds_processes_apis", "").as("apis")).needed(),
			number("Workers", "That the database has seen in the last minute.", known("alds_processes_workers", "").as("workers")).needed().to("webhooks"),
			number("Schedulers", "That the database has seen in the last minute.", known("alds_processes_schedulers", "").as("schedulers")).needed().to("queue"),
			number("Targets that do not answer", "Processes that Prometheus cannot ask.", query{`count(up{` + installation + `} == 0) or vector(0)`, "targets"}).above(0, 1),
		}},
		{"Is anything wrong?", []panel{
			number("What alds depends on", "The worst that any process says of it.", query{`min by (check) (alds_admin_check_up{` + installation + `})`, "{{check}}"}).
				needed().calls(map[string]string{"0": "down", "1": "up"}).to("queue"),
			number("Alerts that fire", "Their runbooks tell what to do; the critical ones are marked in the graphs.", firing("critical"), firing("warning")).above(0, 1),
		}},
		{"Golden signals", []panel{
			graph("Traffic", "Requests by the class of their status.", requests,
				query{`sum by (class) (label_replace(rate(alds_httpapi_request_duration_seconds_count{` + these + `}[$__rate_interval]), "class", "${1}xx", "status", "(.).*"))`, "{{class}}"}).to("api"),
			graph("Errors", "Share of requests that failed (5xx but 503: an alert above 1 %) or were refused (503: an alert above 5 %).", share,
				answered(`status=~"5..", status!="503"`).as("failed"), answered(`status="503"`).as("refused")).above(0.01, 0.05).to("api"),
			graph("Latency", "What 50, 95 and 99 of 100 requests stay below. Not those that wait on purpose: readers of the feed, and who is not signed in.", seconds, spread(atOnce)...).to("api"),
			graph("Saturation: connections to the database", "Of each process the fullest kind, on average of a minute. An alert above 90 % of five minutes.", share,
				query{`max by (instance) (avg_over_time(alds_app_db_pool_in_use{` + these + `}[1m]) / alds_app_db_pool_limit{` + these + `})`, "{{instance}}"}).above(0.75, 0.9).to("queue"),
			graph("Saturation: requests that wait", "For their member's turn, or for memory.", whole, gauge("alds_httpapi_requests_waiting")).to("api"),
			graph("Delivery: age of the oldest change", "That no worker has fanned out. An alert above a minute.", seconds, known("alds_webhook_backlog_age_seconds", "").as("oldest change")).above(30, 60).to("webhooks"),
		}},
		{"Processes", []panel{
			graph("Versions", "Several for long: an upgrade has stopped half way.", whole, query{`count by (version, role) (alds_app_build_info{` + these + `})`, "{{version}} {{role}}"}),
			graph("Age", "Since the start; it falls to 0 with a restart.", seconds, query{`time() - max by (instance) (process_start_time_seconds{` + these + `})`, "{{instance}}"}),
			graph("Processor time", "How many processors each keeps busy.", count, query{`sum by (instance) (rate(process_cpu_seconds_total{` + these + `}[$__rate_interval]))`, "{{instance}}"}),
			graph("Memory", "As the system counts it (resident).", size, gauge("process_resident_memory_bytes")),
			graph("Open files and connections", "Share of what the system allows each.", share, part("process_open_fds", "process_max_fds")).above(0.75, 0.9),
		}},
	},
}

// firing returns how many alerts of a severity fire.
func firing(severity string) query {
	return query{`count(ALERTS{` + installation + `, alertstate="firing", severity="` + severity + `"}) or vector(0)`, severity}
}

// answered returns the share of requests with a status.
func answered(status string) query {
	const counted = "alds_httpapi_request_duration_seconds_count{" + these
	return query{`(sum(rate(` + counted + `, ` + status + `}[$__rate_interval])) or vector(0)) / sum(rate(` + counted + `}[$__rate_interval]))`, status}
}

// atOnce is the duration of requests that are answered immediately. Readers of the feed wait
// as long as they request, and a wrong password is answered late.
const atOnce = `alds_httpapi_request_duration_seconds{route!="api/changes", status!="401"}`
