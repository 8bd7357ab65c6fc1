package config

// Setting is one environment variable.
type Setting struct {
	Name    string // of the variable
	Default string // the value when it is unset or empty; empty when Meaning has it
	Meaning string // one sentence or two, for the reference table
}

// Settings returns the reference table of all settings, in the order they are
// documented in.
func Settings() []Setting {
	return []Setting{
		{"PORT", "8080", "Port of the api."},
		{"ALDS_ADDR", "", "Address the api listens on, host:port; takes the place of PORT. Unset: all interfaces, standalone 127.0.0.1 only."},
		{"DATABASE_URL", "", "`mysql://user:pass@host:3306/name` or `sqlite:path`. Required, by commands too; standalone: `alds.db` in ALDS_DATA_DIR."},
		{"DATABASE_READ_URL", "", "Replicas of the database, as DATABASE_URL is written, separated by commas or spaces: an api queries them where they have what its caller has written ([operations](docs/operations.md#replicas)). Not with SQLite. Unset: there are none."},
		{"ALDS_DATABASE_PASSWORD", "", "Password of the database's user, as it is, in place of the one in DATABASE_URL and DATABASE_READ_URL."},
		{"ALDS_DATABASE_TLS", "", "`true`, `verify-ca`, `skip-verify`, `preferred` or `false`, in place of what DATABASE_URL and DATABASE_READ_URL say of TLS."},
		{"REDIS_URL", "", "`redis://`, `redis+sentinel://` or `redis+cluster://`; with TLS `rediss://`, `rediss+sentinel://` or `rediss+cluster://`. Required by roles; standalone: a queue in the process."},
		{"ALDS_REDIS_PASSWORD", "", "Password for Redis, as it is, in place of the one in REDIS_URL."},
		{"ALDS_REDIS_TLS", "", "`true`, `verify-ca`, `skip-verify` or `false`, in place of what REDIS_URL says of TLS."},
		{"ALDS_TLS_CA", "", "File of PEM certificates: the authorities that count for the database and Redis, where their address names no other by `tls-ca`. Unset: those of the system."},
		{"ALDS_INSTANCE", "alds", "First segment of every path."},
		{"ALDS_PUBLIC_URL", "", "The base URL as others see it, instance included, for hrefs. Unset: made from the address."},
		{"ALDS_ADMIN_ADDR", "", "Listener of every process for `/healthz`, `/readyz` and `/metrics`. Unset: a free loopback port, printed at start."},
		{"ALDS_METRICS_TOKEN", "", "Serves `/metrics` at the api's own address, too, to requests with `Authorization: Bearer` and this token, of 32 characters or more. Unset: not there."},
		{"ALDS_ADMIN_PASSWORD", "", "Password of Member:20 when the database is new; later `api password` sets it. `migrate` of a new database requires one other than `admin`. Standalone: `admin`, with which alds listens on loopback only."},
		{"ALDS_SECRET_KEY", "", "Base64 of 32 bytes; encrypts stored secrets. Several, separated by commas: the first encrypts, all decrypt. Required by roles; standalone makes `secret.key` in ALDS_DATA_DIR."},
		{"ALDS_DATA_DIR", "alds-data", "Folder of standalone."},
		{"ALDS_LOG_LEVEL", "info", "debug, info, warn or error."},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "", "`http://` or `https://` of a collector that takes traces, by OTLP over HTTP; other variables of OpenTelemetry are read then ([operations](docs/operations.md#traces)). Unset: there are none."},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", "The same as a whole URL, path included; takes the place of the other."},
		{"OTEL_TRACES_EXPORTER", "otlp", "`none`: no traces, whatever else is set."},
		{"OTEL_SDK_DISABLED", "", "`true`: the same."},
		{"ALDS_REQUEST_TIMEOUT", "90s", "Longest time one request is worked on, the sending of a large answer included; of an upload, once its bytes are there."},
		{"ALDS_SHUTDOWN_DELAY", "0s", "How long an api goes on taking requests after a signal to stop, while `/readyz` answers 503: as long as a balancer needs to notice. The grace begins then."},
		{"ALDS_SHUTDOWN_GRACE", "20s", "Time to finish or hand back work after a signal to stop."},
		{"ALDS_DB_CONNS", "40", "Database connections of one process, at most."},
		{"ALDS_DB_WRITE_LIMIT", "60s", "Longest time of one write transaction."},
		{"ALDS_MAX_BODY", "64MiB", "Largest request body; above it the answer is 413."},
		{"ALDS_MAX_ATTACHMENT", "25MiB", "Largest content of an attachment or image; above it the answer is 413. Bodies of its own URL have this limit in the place of ALDS_MAX_BODY."},
		{"ALDS_BLOB_URL", "", "Where the contents of attachments lie: `file:///folder`, or `s3://bucket?endpoint=https://host&region=…&prefix=…`, with the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Unset: in the database."},
		{"ALDS_BODY_MEMORY", "", "Bytes that requests may need together for bodies, unpacked and read, and for answers; above it the answer is 503. One member gets half. Unset: a quarter of what the process may use."},
		{"ALDS_MAX_CONNS", "", "Most connections of clients. Unset: 4096, or what the limit of descriptors leaves."},
		{"ALDS_MAX_CONNS_PER_ADDRESS", "", "Of those, most of one address; behind a trusted proxy, most requests of one forwarded address at a time. Unset: a quarter."},
		{"ALDS_TRUSTED_PROXIES", "", "Addresses and networks, such as `10.0.0.0/8,192.0.2.1`, whose `X-Forwarded-For` is taken for the client's address."},
		{"ALDS_OPEN_METADATA", "", "`1` lets metadata, localization and configuration be read without credentials, for clients that ask before they sign in."},
		{"ALDS_DASHBOARDS_URL", "", "`https://…` of dashboards, to which the page and answer for system administrators link. Unset: no link."},
		{"ALDS_METHODOLOGY", "Scrum", "Scrum, XP, AgileUP or DSDM: whose names projects, backlog items, sprints and feature groups have in localization."},
		{"ALDS_MEMBER_REQUESTS", "", "Requests of one member that run at a time; others wait in turn. Unset: three quarters of the connections that read."},
		{"ALDS_MAX_ANSWER", "1GiB", "Largest answer to a read; above it the answer is 400, or breaks off where it has begun."},
		{"ALDS_MAX_COMMANDS", "100000", "Most commands of one request; above it the answer is 400."},
		{"ALDS_MAX_ASSETS", "100000", "Most assets one request may change."},
		{"ALDS_IDEMPOTENCY_KEEP", "24h", "How long the answer to an Idempotency-Key, or to a request carried out later, is kept."},
		{"ALDS_AUDIT_KEEP", "8760h", "How long an event of the audit is kept."},
		{"ALDS_VERSION_KEEP", "", "How long history is kept: earlier versions, and what `asof`, `Hist`, activity and `api/changes` read of them, such as `17520h`; at least `24h`. The scheduler removes what is older, which cannot be undone. Unset: for ever."},
		{"ALDS_WORKER_CONCURRENCY", "64", "Webhook deliveries of one worker at the same time."},
		{"ALDS_WEBHOOK_ALLOW_PRIVATE", "", "`1` lets webhooks go to loopback and private addresses. Unset: only in a standalone that listens on loopback."},
		{"ALDS_WEBHOOK_RETRY_SCHEDULE", "5s,30s,2m,10m,30m,2h,6h,12h,24h", "Times between the attempts of a delivery; one attempt more than times."},
		{"ALDS_WEBHOOK_MAX_ENABLED", "1000", "Enabled subscriptions allowed; 0 for any number."},
		{"ALDS_WEBHOOK_TIMEOUT", "10s", "Longest time of one delivery attempt."},
		{"ALDS_WEBHOOK_CONNECT_TIMEOUT", "3s", "Longest time to connect to a receiver."},
		{"ALDS_WEBHOOK_IN_FLIGHT", "8", "Deliveries of one subscription at the same time."},
		{"ALDS_WEBHOOK_DISABLE_AFTER", "5", "Deliveries in a row that use up their attempts before the subscription is disabled."},
		{"ALDS_WEBHOOK_KEEP", "72h", "How long a settled delivery is kept, so that it can be sent again."},
		{"ALDS_URL", "http://127.0.0.1:8080/alds", "The service that `api import` writes to, in place of `--url`. May have a user and a password: `https://user:pass@host/alds`."},
		{"ALDS_TOKEN", "", "Access token of `api import`, in place of user and password."},
	}
}
