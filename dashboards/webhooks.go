package main

// webhooks shows the path of a change from its commit to its receivers.
var webhooks = board{
	"webhooks", "Webhooks", "The way of a change from its commit to the answer of its receivers.",
	[]row{
		{"Is anything late?", []panel{
			graph("From commit to answer", "What 50, 95 and 99 of 100 first attempts stay below.", seconds, spread("alds_delivery_latency_seconds")...),
			graph("Age of the oldest change that waits", "fan-out: for a worker (an alert above a minute). turn: for its turn. asset: for an earlier one of the same asset. retry, resting: its receiver fails. paused: by its owner.", seconds,
				known("alds_webhook_backlog_age_seconds", "").as("fan-out"), known("alds_delivery_waiting_age_seconds", "why")),
			graph("Writes not fanned out", "Above 10,000 an estimate.", whole, known("alds_webhook_backlog_audits", "").as("writes")),
			graph("Deliveries that wait", "By reason, as above.", whole, known("alds_delivery_waiting_deliveries", "why")),
			graph("Events", "made: one for each change and subscription. accepted: by receivers.", perSecond, rate("alds_webhook_events_matched_total", "").as("made"), rate("alds_delivery_events_delivered_total", "").as("accepted")),
		}},
		{"Receivers", []panel{
			graph("Who fails?", "Failed attempts in a row of the ten that fail most, by webhookId. An alert from three on.", whole, most(known("alds_delivery_failing_subscriptions", "name"))).above(0, 3),
			graph("Who is too slow?", "For how long the oldest delivery has been due, of the ten that are furthest behind, by webhookId. An alert above a minute. Paused and failing ones are left out.", seconds, most(known("alds_delivery_due_age_seconds", "name"))).above(0, 60),
			graph("Deliveries that are due", "Of the ten with the most, by webhookId; counted to 10,000.", whole, most(known("alds_delivery_due_deliveries", "name"))),
			graph("Circuit breakers", "open: the receiver is left alone for a while. half_open: it is tried.", whole, known("alds_delivery_breakers", "state")),
			graph("Attempts", "By outcome.", perSecond, rate("alds_delivery_attempts_total", "outcome")),
			graph("Duration of attempts", "What 95 of 100 stay below, by outcome.", seconds, slow("alds_delivery_attempt_duration_seconds", "outcome")),
			graph("Deliveries that ended", "By outcome; exhausted and gone disable the subscription.", perSecond, rate("alds_delivery_deliveries_total", "outcome")),
			graph("Subscriptions disabled", "In an hour, by the service: an alert.", whole, lastHour("alds_webhook_subscriptions_disabled_total", "").as("disabled")).above(0, 1),
		}},
		{"Fan-out", []panel{
			graph("Writes fanned out", "unwanted: no subscription is about them. set_aside: given up.", perSecond, rate("alds_webhook_audits_total", "outcome")),
			graph("Duration of a fan-out", "What 50, 95 and 99 of 100 stay below.", seconds, spread("alds_webhook_fanout_duration_seconds")...),
			graph("Versions and filters", "Versions that were matched, and filters evaluated on them: in memory or by a query.", perSecond, rate("alds_webhook_versions_total", "").as("versions"), rate("alds_webhook_filters_total", "by").as("filters: {{by}}")),
		}},
		{"Workers", []panel{
			graph("Subscriptions being delivered to", "By each worker.", whole, gauge("alds_delivery_lanes")),
			graph("Subscriptions that wait for a worker", "Their deliveries are due, and no worker has taken them.", whole, known("alds_delivery_due_subscriptions", "").as("subscriptions")),
			graph("Leases lost", "In an hour: the work took longer than its claim, and is done again.", whole, lastHour("alds_webhook_leases_lost_total", "").as("fan-out"), lastHour("alds_delivery_leases_lost_total", "").as("delivery")).above(0, 1),
			graph("Results not stored", "In an hour, in groups; they are stored again.", whole, lastHour("alds_delivery_record_errors_total", "").as("groups")).above(0, 1),
			graph("Rows removed", "After their time, by table.", perSecond, rate("alds_delivery_pruned_total", "table")),
		}},
	},
}
