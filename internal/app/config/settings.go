package config

// Setting is one environment variable.
type Setting struct {
	Name    string // name of the variable
	Default string // the value if the variable is unset or empty; if this is empty, Meaning describes the default
	Meaning string // one or two sentences for docs/settings.md; links are relative to docs/
}

// A SettingGroup has the settings of one subject, which are a section of docs/settings.md.
type SettingGroup struct {
	Title    string
	Settings []Setting
}

// Settings returns all settings in the order of SettingGroups.
func Settings() []Setting {
	var all []Setting
	for _, g := range SettingGroups() {
		all = append(all, g.Settings...)
	}
	return all
}

// SettingGroups returns the sections of docs/settings.md in their order. The first has the
// settings that most installations need.
func SettingGroups() []SettingGroup {
	return []SettingGroup{
		{"The ten that matter first", []Setting{
			{"DATABASE_URL", "", "The database: `mysql://user:pass@host:3306/name` or `sqlite:path`. Required, also by commands. Standalone default: `alds.db` in ALDS_DATA_DIR."},
			{"REDIS_URL", "", "Redis: `redis://`, `redis+sentinel://` or `redis+cluster://`; with TLS `rediss://`, `rediss+sentinel://` or `rediss+cluster://`. Required by api, worker and scheduler. Standalone default: a queue inside the process."},
			{"ALDS_SECRET_KEY", "", "Base64 of 32 bytes, which encrypts stored secrets. Separate several keys by commas: the first one encrypts, all decrypt. Required by api, worker and scheduler. Standalone default: `secret.key` in ALDS_DATA_DIR, created at the first start."},
			{"ALDS_ADMIN_PASSWORD", "", "Password of the first administrator (Member:20) of a new database. `migrate` requires one other than `admin`. Later, `api password` changes it. Standalone default: `admin`; alds then listens on loopback only."},
			{"PORT", "8080", "Port of the api."},
			{"ALDS_ADDR", "", "Address of the api as host:port, in place of PORT. Default: all interfaces; standalone: 127.0.0.1."},
			{"ALDS_PUBLIC_URL", "", "Base URL as clients see it, including the instance. alds uses it in links. Default: derived from ALDS_ADDR."},
			{"ALDS_TRUSTED_PROXIES", "", "Addresses and networks of your proxies, such as `10.0.0.0/8,192.0.2.1`. alds takes the client's address from their `X-Forwarded-For`."},
			{"ALDS_DATA_DIR", "alds-data", "Folder of standalone."},
			{"ALDS_LOG_LEVEL", "info", "`debug`, `info`, `warn` or `error`."},
		}},
		{"Addresses, TLS and passwords", []Setting{
			{"ALDS_INSTANCE", "alds", "First segment of every path."},
			{"DATABASE_READ_URL", "", "Replicas of the database, written like DATABASE_URL and separated by commas or spaces. An api reads from a replica that has the caller's own writes ([operations](operations.md#replicas)). Not with SQLite. Default: no replicas."},
			{"ALDS_DATABASE_PASSWORD", "", "Password of the database user, unescaped. It replaces the password in DATABASE_URL and DATABASE_READ_URL."},
			{"ALDS_DATABASE_TLS", "", "`true`, `verify-ca`, `skip-verify`, `preferred` or `false`. It replaces the TLS options of DATABASE_URL and DATABASE_READ_URL."},
			{"ALDS_REDIS_PASSWORD", "", "Password of Redis, unescaped. It replaces the password in REDIS_URL."},
			{"ALDS_REDIS_TLS", "", "`true`, `verify-ca`, `skip-verify` or `false`. It replaces the TLS options of REDIS_URL."},
			{"ALDS_TLS_CA", "", "PEM file with CA certificates for the database and Redis. Default: the system's certificates. `tls-ca` in an address takes precedence."},
			{"ALDS_BLOB_URL", "", "Storage for attachments: `file:///folder`, or `s3://bucket?endpoint=https://host&region=…&prefix=…` with the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Default: the database."},
		}},
		{"Access", []Setting{
			{"ALDS_OPEN_METADATA", "", "`1` lets clients read metadata, localization and configuration without credentials."},
			{"ALDS_METHODOLOGY", "Scrum", "`Scrum`, `XP`, `AgileUP` or `DSDM`. It selects the names of projects, backlog items, sprints and feature groups in localization."},
		}},
		{"Limits of requests", []Setting{
			{"ALDS_REQUEST_TIMEOUT", "90s", "Longest time of one request, including the sending of a large answer. The time of an upload begins when its bytes have arrived."},
			{"ALDS_MAX_BODY", "64MiB", "Largest request body. A larger one gets 413."},
			{"ALDS_MAX_ATTACHMENT", "25MiB", "Largest attachment or image. A larger one gets 413. Uploads have this limit in place of ALDS_MAX_BODY."},
			{"ALDS_MAX_ANSWER", "1GiB", "Largest answer to a read. A larger one gets 400, or is cut off if it has begun."},
			{"ALDS_MAX_COMMANDS", "100000", "Most commands in one request. A request with more gets 400."},
			{"ALDS_MAX_ASSETS", "100000", "Most assets that one request may change."},
			{"ALDS_MEMBER_REQUESTS", "", "Requests of one member that run at a time. Further requests of the member wait. Default: three quarters of the read connections."},
			{"ALDS_BODY_MEMORY", "", "Memory for all request bodies and answers together. A request that would exceed it gets 503. One member can use at most half of it. Default: a quarter of the process's memory."},
			{"ALDS_MAX_CONNS", "", "Most client connections. Default: 4096, or less if the limit of file descriptors is lower."},
			{"ALDS_MAX_CONNS_PER_ADDRESS", "", "Most connections of one address; behind a trusted proxy, most concurrent requests of one forwarded address. Default: a quarter of ALDS_MAX_CONNS."},
			{"ALDS_DB_CONNS", "40", "Most database connections of one process."},
			{"ALDS_DB_WRITE_LIMIT", "60s", "Longest time of one write transaction."},
		}},
		{"Retention", []Setting{
			{"ALDS_IDEMPOTENCY_KEEP", "24h", "How long the answer to an Idempotency-Key or to an asynchronous request is kept."},
			{"ALDS_AUDIT_KEEP", "8760h", "How long an event of the audit log is kept."},
			{"ALDS_VERSION_KEEP", "", "How long history is kept, such as `17520h`; at least `24h`. It covers earlier versions and what `asof`, `Hist`, activity and `api/changes` read. The scheduler removes older history, which cannot be undone. Default: forever."},
		}},
		{"Webhooks", []Setting{
			{"ALDS_WORKER_CONCURRENCY", "64", "Deliveries that one worker sends at the same time."},
			{"ALDS_WEBHOOK_IN_FLIGHT", "8", "Deliveries of one subscription at the same time."},
			{"ALDS_WEBHOOK_TIMEOUT", "10s", "Longest time of one delivery attempt."},
			{"ALDS_WEBHOOK_CONNECT_TIMEOUT", "3s", "Longest time to connect to a receiver."},
			{"ALDS_WEBHOOK_RETRY_SCHEDULE", "5s,30s,2m,10m,30m,2h,6h,12h,24h", "Pauses between the attempts of a delivery."},
			{"ALDS_WEBHOOK_DISABLE_AFTER", "5", "A subscription is disabled after this number of consecutive deliveries that used up their attempts."},
			{"ALDS_WEBHOOK_KEEP", "72h", "How long a finished delivery is kept, so that it can be sent again."},
			{"ALDS_WEBHOOK_MAX_ENABLED", "1000", "Most enabled subscriptions; 0 for no limit."},
			{"ALDS_WEBHOOK_ALLOW_PRIVATE", "", "`1` allows webhooks to loopback and private addresses. Default: only a standalone that listens on loopback allows them."},
		}},
		{"Running and watching", []Setting{
			{"ALDS_ADMIN_ADDR", "", "Address of `/healthz`, `/readyz` and `/metrics` of each process. Default: a free loopback port, printed at start."},
			{"ALDS_METRICS_TOKEN", "", "Token of 32 characters or more. Requests to the api's own address with `Authorization: Bearer` and this token get `/metrics`. Default: no metrics at that address."},
			{"ALDS_SHUTDOWN_DELAY", "0s", "How long an api continues to accept requests after a stop signal, while `/readyz` answers 503. Set it to the time your load balancer needs to notice."},
			{"ALDS_SHUTDOWN_GRACE", "20s", "Time to finish or hand back work after a stop signal. It begins after ALDS_SHUTDOWN_DELAY."},
			{"ALDS_DASHBOARDS_URL", "", "`https://…` of your dashboards. The system page links to it. Default: no link."},
			{"OTEL_EXPORTER_OTLP_ENDPOINT", "", "`http://` or `https://` URL of a trace collector that accepts OTLP over HTTP. With it, alds also reads OpenTelemetry's other variables ([operations](operations.md#traces)). Default: no traces."},
			{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", "The same as a complete URL including the path. It replaces OTEL_EXPORTER_OTLP_ENDPOINT."},
			{"OTEL_TRACES_EXPORTER", "otlp", "`none` turns traces off, whatever else is set."},
			{"OTEL_SDK_DISABLED", "", "`true` turns traces off, too."},
		}},
		{"The import command", []Setting{
			{"ALDS_URL", "http://127.0.0.1:8080/alds", "The service that `api import` and `api mcp` use, unless `--url` is set. It may contain user and password: `https://user:pass@host/alds`."},
			{"ALDS_TOKEN", "", "Access token of `api import` and `api mcp`, in place of user and password."},
		}},
	}
}
