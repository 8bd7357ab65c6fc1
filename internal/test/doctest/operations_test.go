//go:build unix

package doctest

const (
	suite    = "the suite runs it"
	bench    = "benches are run by hand"
	platform = "it needs a platform that is not here; deploytest runs the files for those"
)

// subscription creates a webhook subscription and sets the shell variable id to its id.
const subscription = `id=$(echo '{"webhookId": "done-stories", "url": "https://example.org/hooks/alds", "enabled": false, "eventTypes": [{"type": "AssetChanged", "from": "Story"}]}' | ask POST api/webhook | value id)`

// operationsRows has the rows of the commands that create the installation. The other documents then use
// this installation.
var operationsRows = []row{
	{begins: "bin/api migrate", not: "a row of a table: what is run once per release"},
	{begins: "docker compose up", not: platform},
	{begins: "make build"},
	{begins: "CREATE DATABASE", after: "SCHEMA=alds"},
	{begins: "export DATABASE_URL"},
	{begins: "ALDS_ADMIN_PASSWORD", prints: `schema is up to date`, before: "export ALDS_LOG_LEVEL=info", after: "export ALDS_LOG_LEVEL=warn"},
	{begins: "ALDS_ADDR", name: "start_roles", after: "started"},
	{begins: "curl -f --retry", prints: `"status":"ok"(.|\n)*"role":"scheduler"`},
	{begins: "TOKEN=", prints: `Scope:\d+`},
	{begins: "mysqldump", prints: `the database agrees with itself`},
	{begins: "UPDATE webhook_subscription", before: "stop", after: "export ALDS_SECRET_KEY=$(openssl rand -base64 32); start_roles; started"},
	{
		begins: "bin/api rotate-key", prints: `sealed anew: \d`,
		before: "OLD=$ALDS_SECRET_KEY NEW=$(openssl rand -base64 32); export ALDS_SECRET_KEY=$OLD,$NEW; again; export ALDS_SECRET_KEY=$NEW,$OLD; again",
		after:  "export ALDS_SECRET_KEY=$NEW; again",
	},
	{begins: "bin/api token create", lines: []row{
		{
			begins: "bin/api token create", prints: `(?m)^\d+\.[A-Za-z0-9+/=]{40,}$`,
			before: `echo '{"AssetType": "Member", "Name": "loader", "Nickname": "loader", "Username": "loader", "Password": "a password of a loader", "DefaultRole": "Role:4"}' | ask POST api/asset >/dev/null`,
		},
		{begins: "bin/api token list", prints: `nightly import`, after: `TOKEN_ID=$(bin/api token list --member loader | grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}' | head -1)`},
		{begins: "bin/api token revoke", after: `bin/api token list --member loader`, prints: `revoked`},
	}},
	{begins: "bin/api token create", prints: `(?m)^\d+\.[A-Za-z0-9+/=]{40,}$`},
	{begins: "bin/api password", types: "choose-a-third", after: "ADMIN=choose-a-third; until_ok ask GET api/system; printf choose-another | bin/api password --member admin; ADMIN=choose-another; until_ok ask GET api/system"},
	{begins: "bin/standalone password", not: "there is no standalone here; its command is that of the api"},
	{begins: "GET api/audit", prints: `LoginChanged`},
	{begins: "promtool test rules", prints: `SUCCESS`},
	{begins: "GET api/system", prints: `"processes"`},
	{begins: "POST api/asset", not: "it is the name of a span"},
	{begins: "GET api/system", prints: `"alive"`},
	{begins: "GET api/system", prints: `"version"`},
	{begins: "GET api/system", prints: `"commitDate"`},
	{begins: "bin/api --version", prints: `0\.`},
	{begins: "bin/api migrate --check", prints: `"status":"ok"`},
	{begins: "GET api/system", prints: `"waitingChanges"`},
	{begins: "bin/api migrate"},
	{begins: "go test", not: suite},
	{begins: "go test", not: suite},
	{
		begins: "mysql ", prints: `the database agrees with itself`,
		before: `SCHEMA=; for name in copy restored; do echo "CREATE DATABASE $name CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; GRANT ALL ON $name.* TO alds@'%';" | sql; done; SCHEMA=alds`,
	},
	{begins: "ALTER TABLE asset_version PAGE_COMPRESSED"},
	{begins: "ALTER TABLE asset_version COMPRESSION", not: "that of MySQL; here is MariaDB"},
	{begins: "bin/api export", after: `for name in alds restored; do DATABASE_URL=${DATABASE_URL%/*}/$name bin/api export | gzip -n > $name.gz; done; cmp alds.gz restored.gz`},
	{begins: "UPDATE webhook_subscription", before: "SCHEMA=restored", after: "SCHEMA=alds"},
	{begins: "bin/api check", lines: []row{
		{begins: "bin/api check", prints: `the database agrees with itself`},
		{begins: "bin/api repair", prints: `the database agrees with itself`},
		{begins: "bin/api repair --yes", prints: `the database agrees|0 findings`, before: "stop", after: "start_roles; started"},
	}},
}

// securityRows has rows in which the client and the proxy have different addresses.
var securityRows = []row{
	{begins: "go test", not: suite},
	{
		begins: "curl", prints: `301 https://\S+/alds/api/webhook\n401`,
		before: `nginx -c $PWD/../nginx.conf & NGINX=$!
export ALDS_PUBLIC_URL=$SITE/alds ALDS_TRUSTED_PROXIES=127.0.0.1
again
until_ok curl -s $SITE/alds
FROM=127.0.0.3`,
	},
	{begins: "curl -s --max-time", fails: true},
	{begins: "curl", lines: []row{
		{begins: "curl"},
		{begins: "curl", before: "until_ok has SignInRefused ask GET api/audit?kind=SignInRefused", prints: `"address": ?"127\.0\.0\.3"`},
	}},
	{begins: "curl", prints: `^\s*404\s+404`},
	{begins: "curl", prints: `^\s*401`},
	{begins: "curl", prints: `^\s*401`},
	{begins: "HOOK=", lines: []row{
		{begins: "HOOK="},
		{begins: "curl", prints: `"deliveries": ?1`},
		{begins: "curl", before: "until_ok has lastError ask GET api/webhook/deliveries/$HOOK", prints: `not a public one`},
		{begins: "curl", after: "FROM="},
	}},
	{begins: "SHOW GRANTS", prints: "(?s)USAGE ON \\*\\.\\*.*`alds`"},
}

var proxiesRows = []row{
	{begins: "GET api/audit", prints: `"address"`},
}

var capacityRows = []row{
	{begins: "go install github.com/hibiken/asynqmon", not: "a tool for the queue, which is not part of alds"},
	{begins: "ulimit -n", prints: `\d+|unlimited`},
	{begins: "go run ./bench/load", not: bench},
	{begins: "SHOW VARIABLES", prints: `max_connections\s+400`},
}

var troubleshootingRows = []row{
	{begins: "bin/api migrate", not: "the guide runs it"},
	{begins: "curl -s http", prints: `"checks"`},
	{begins: "GET api/audit", prints: `"results"`},
	{begins: "GET api/system", prints: `"slowQueries"`},
	{begins: "SHOW FULL PROCESSLIST", prints: `alds`},
	{begins: "POST api/webhook/preview", types: `{"eventTypes": [{"type": "AssetCreated", "from": "Scope"}]}`, prints: `Scope`},
	{begins: "GET api/webhook/deliveries", before: subscription, prints: `\[`},
	{begins: "max by", before: withPrometheus, prints: `=> `},
	{begins: "GET api/system", prints: `"acceptedRequests"`},
	{begins: "bin/api check", prints: `the database agrees with itself`},
}

// withPrometheus starts Prometheus and waits until Prometheus scrapes all three processes.
const withPrometheus = `prometheus --config.file=../prometheus.yml --storage.tsdb.path=../prometheus --web.listen-address=$PROMETHEUS --log.level=error &
until_ok has '=> 3' promtool query instant http://$PROMETHEUS 'sum(up)'`

var runbooksRows = []row{
	{begins: "curl http://127.0.0.1:9090/readyz", prints: `"status":"ok"`},
	{begins: "curl -u admin", types: "choose-another", prints: `"processes"`},
	{begins: "count by (job)", prints: `=> 3`},
	{begins: "curl http://127.0.0.1:9090/healthz", prints: `ok`},
	{begins: "docker compose ps", not: platform},
	{begins: "systemctl status", not: platform},
	{begins: "kubectl get pods", not: platform},
	{begins: "select role", prints: `(?m)^worker\s`},
	{begins: "max by", prints: `=> `},
	{begins: "alds_admin_check_up"},
	{begins: "SHOW STATUS", prints: `Threads_connected\s+\d`},
	{begins: "df -h", prints: `%`},
	{begins: "SHOW BINARY LOGS", prints: `bin\.0`},
	{begins: "select table_name", prints: `asset_version`},
	{begins: "SHOW FULL PROCESSLIST", prints: `alds`},
	{begins: "GET api/system", prints: `"slowQueries"`},
	{begins: "redis-cli", prints: `PONG`},
	{begins: "rate(alds_jobs"}, // a counter that was never incremented has no series
	{begins: "SHOW ENGINE", prints: `INNODB MONITOR OUTPUT`},
	{begins: "GET api/webhook/<id>", prints: `"health"`},
	{begins: "GET api/webhook/<id>", prints: `"health"`},
	{begins: "GET api/audit", prints: `SubscriptionCreated|"results"`},
	{begins: "increase(alds_jobs"},
	{begins: "SHOW FULL PROCESSLIST", prints: `alds`},
	{begins: "bin/api check", prints: `the database agrees with itself`},
	{begins: "sum by (route)"},
	{begins: "bin/api check", prints: `the database agrees with itself`},
	{begins: "GET api/system", prints: `"slowQueries"`},
	{begins: "GET api/audit", prints: `SignInRefused`},
}

var webhooksRows = []row{
	{begins: "GET api/webhook", prints: `done-stories`},
	{begins: "GET api/webhook/status", prints: `\[\]`},
	{begins: "POST api/webhook/<id>", types: `{"enabled": true}`, prints: `"enabled": ?true`},
	{begins: "POST api/webhook/delete", not: "at the end, by hand"},
	{begins: "POST api/webhook/preview", types: `{"eventTypes": [{"type": "AssetCreated", "from": "Scope"}]}`, prints: `Scope`},
	{begins: "GET api/webhook/<id>", prints: `"health"`},
	{begins: "POST api/webhook/test", before: `echo '{"url": "http://127.0.0.1:9/"}' | ask POST api/webhook/$id`, prints: `"deliveries": ?1`},
	{begins: "GET api/webhook/deliveries", prints: `"state"`, after: `delivery=$(ask GET api/webhook/deliveries/$id | value id)`},
	{begins: "GET api/webhook/delivery", before: "old=$id; id=$delivery", after: "id=$old", prints: `Test`},
	{begins: "POST api/webhook/redeliver", types: `{"delivery": "$delivery"}`, prints: `"deliveries": ?\d`, after: `ask POST api/webhook/delete/$id </dev/null`},
	{begins: "go run ./bench/receiver", not: "the README's test runs it"},
}

var contributingRows = []row{
	{begins: "git clone", lines: []row{
		{begins: "git clone", not: "a public address; this is a clone"},
		{begins: "go run -v ./cmd/standalone", not: "the README's test runs it"},
		{begins: "go run ./internal/test/testall", not: "it runs this test"},
		{begins: "make  ", prints: `check`},
	}},
	{begins: "go run ./internal/test/testall", not: "it runs this test"},
	{begins: "make check", not: "it runs this test"},
	{begins: "make long", not: "an hour"},
	{begins: "make long", not: "the same"},
	{begins: "go run ./internal/test/testall gate", not: "it runs this test"},
	{begins: "go run ./internal/test/testall list", not: "its own test has the areas"},
	{begins: "go test", not: "a part of the quick tests"},
	{begins: "go test", not: "a run of an hour"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "go test", not: "the same"},
	{begins: "url=", not: ".ci/run does this"},
	{begins: "make on-server", not: ".ci/run does this"},
	{begins: "go test", not: suite},
	{begins: "go run ./dashboards", after: `git diff --exit-code dashboards`},
	{begins: "go test", after: `git diff --exit-code docs/settings.md`},
	{begins: "go test", not: suite},
	{begins: "make longest", prints: `internal/`},
}
