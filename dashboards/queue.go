package main

// queue shows what the processes share: Redis and its queue, periodic work, and the database.
var queue = board{
	"queue", "Queue and databases", "What processes depend on: the queue in Redis, periodic work, and the connections to the database.",
	[]row{
		{"Queue", []panel{
			graph("Processes cut off", "From the database, Redis, the store of attachments, or by a schema that they do not work with.", whole,
				query{`sum by (check) (1 - alds_admin_check_up{` + these + `})`, "{{check}}"}).above(0, 1),
			graph("Tasks", "By state. retry: not done yet. archived: set aside.", whole, known("alds_jobs_queue_tasks", "state")),
			graph("Sent", "Hints and tasks.", perSecond, rate("alds_jobs_sent_total", "task")),
			graph("Not sent", "In an hour, since Redis did not take them or (waiting) too many waited. The sweep finds the work.", whole, lastHour("alds_jobs_unsent_total", "task"), lastHour("alds_jobs_dropped_total", "").as("waiting")).above(0, 1),
			graph("Hints that woke a worker", "By worker.", perSecond, rate("alds_jobs_hints_total", "instance")),
			graph("Hints not read", "In an hour: Redis does not answer.", whole, lastHour("alds_jobs_hint_errors_total", "").as("reads")).above(0, 1),
			graph("Duration of work", "What 95 of 100 stay below, by what caused it.", seconds, slow("alds_jobs_work_duration_seconds", "task")),
			graph("Work that failed", "In an hour, by what caused it. It is tried again.", whole, lastHour("alds_jobs_work_failures_total", "task")).above(0, 1),
		}},
		{"Periodic work", []panel{
			graph("Periods since it last ended well", "An alert above three.", count,
				query{`(time() - max by (task) (alds_jobs_periodic_last_success_timestamp_seconds{` + installation + `})) / max by (task) (alds_jobs_periodic_period_seconds{` + installation + `})`, "{{task}}"}).above(2, 3),
			graph("Duration", "What 95 of 100 stay below in an hour.", seconds,
				quantile("95", lastHour("alds_jobs_periodic_duration_seconds_bucket", "le, task")).as("{{task}}")),
			graph("Failed", "In an hour, by task.", whole, lastHour("alds_jobs_periodic_failures_total", "task")).above(0, 1),
			graph("History removed", "Rows in an hour, by table, of what is older than ALDS_VERSION_KEEP.", whole, lastHour("alds_history_removed_total", "table")),
		}},
		{"Database", []panel{
			graph("Connections", "There may be as many as the processes' limits together; the server's max_connections has to be above.", whole,
				sum("alds_app_db_connections_in_use").as("in use"), sum("alds_app_db_connections_limit").as("there may be")),
			graph("Kinds of connections", "Share in use of the fullest process, on average of a minute. An alert above 90 % of five minutes.", share,
				query{`max by (pool) (avg_over_time(alds_app_db_pool_in_use{` + these + `}[1m]) / alds_app_db_pool_limit{` + these + `})`, "{{pool}}"}).above(0.75, 0.9),
			graph("Long reads that wait", "For others, of the same member or of all. An alert from one on, on average of five minutes.", whole, gauge("alds_app_db_long_reads_waiting")).above(0, 1),
			graph("Reads begun again", "As long ones, since they lasted.", perSecond, rate("alds_app_db_reads_restarted_total", "").as("reads")),
			graph("Statements ended at the server", "In an hour: given up by their client, or for their time.", whole, lastHour("alds_app_db_statements_killed_total", "").as("statements")),
			graph("Where queries are answered", "With DATABASE_READ_URL. replica; else the writer: the replica lacks writes of the member (behind) or has failed (refused), none is in use (none), the client asks for all (strong).", perSecond, rate("alds_app_db_routed_reads_total", "by")),
			graph("Replicas out of use", "Of the processes that query them: it does not answer, lags by more than 10 s, or is of another database.", whole,
				query{`sum by (replica) (1 - alds_app_db_replica_up{` + these + `})`, "{{replica}}"}).above(0, 1),
			graph("Lag of replicas", "At most, as the process sees it that sees most. From 10 s on a replica is left out.", seconds,
				query{`max by (replica) (alds_app_db_replica_lag_seconds{` + these + `})`, "{{replica}}"}).above(2, 10),
			graph("Writes without room", "In an hour: the disk or tablespace of the database is full. An alert.", whole, lastHour("alds_app_db_no_room_total", "").as("writes")).above(0, 1),
		}},
	},
}
