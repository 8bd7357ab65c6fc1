package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

var key = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

func TestStandaloneNeedsNothing(t *testing.T) {
	c, err := FromEnv(env(), true)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:8080" || c.Database != "sqlite:alds-data/alds.db" || c.Redis != "" || c.SecretKeyFile != "alds-data/secret.key" {
		t.Errorf("got %+v", c)
	}
	if !c.WebhookAllowPrivate || !c.HasDefaultPassword() || c.MaxBody != 64<<20 || c.MaxCommands != 100_000 {
		t.Errorf("got %+v", c)
	}
	if len(c.WebhookRetrySchedule) != 9 || c.WebhookRetrySchedule[0] != 5*time.Second || c.WebhookRetrySchedule[8] != 24*time.Hour {
		t.Errorf("schedule %v", c.WebhookRetrySchedule)
	}
	if got := c.BaseURL(c.Addr); got != "http://127.0.0.1:8080/alds" {
		t.Errorf("base URL %s", got)
	}
}

func TestStandaloneOnAllInterfacesDoesNotAllowPrivateTargets(t *testing.T) {
	c, err := FromEnv(env("ALDS_ADDR", ":9000"), true)
	if err != nil || c.WebhookAllowPrivate || IsLoopback(c.Addr) {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestRolesNeedTheirServices(t *testing.T) {
	_, err := FromEnv(env(), false)
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "ALDS_SECRET_KEY"} {
		if err == nil || !strings.Contains(err.Error(), name+" is not set") {
			t.Errorf("%s is not asked for: %v", name, err)
		}
	}
	c, err := FromEnv(env("DATABASE_URL", "mysql://alds:pw@db/alds", "REDIS_URL", "redis://:pw@cache:6379/0", "ALDS_SECRET_KEY", key, "PORT", "5000"), false)
	if err != nil || c.Addr != ":5000" || c.SecretKey.Reveal() != strings.Repeat("k", 32) || c.SecretKeyFile != "" || c.WebhookAllowPrivate {
		t.Errorf("got %+v, %v", c, err)
	}
	if got := c.BaseURL(c.Addr); got != "http://localhost:5000/alds" {
		t.Errorf("base URL %s", got)
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	bad := map[string]string{
		"PORT": "99999", "ALDS_ADDR": "nowhere", "DATABASE_URL": "postgres://u:hunter2@h/d", "REDIS_URL": "http://x:hunter2@y", "ALDS_INSTANCE": "a/b",
		"ALDS_PUBLIC_URL": "ftp://hunter2@x", "ALDS_ADMIN_ADDR": "x", "ALDS_SECRET_KEY": "hunter2",
		"ALDS_LOG_LEVEL": "loud", "ALDS_REQUEST_TIMEOUT": "5", "ALDS_SHUTDOWN_GRACE": "-1s", "ALDS_SHUTDOWN_DELAY": "-1s", "ALDS_DB_CONNS": "0", "ALDS_DB_WRITE_LIMIT": "x",
		"ALDS_MAX_BODY": "64 parsecs", "ALDS_BODY_MEMORY": "some", "ALDS_MAX_CONNS": "1", "ALDS_MAX_CONNS_PER_ADDRESS": "0", "ALDS_TRUSTED_PROXIES": "10.0.0.0/8,example.org",
		"ALDS_MEMBER_REQUESTS": "0", "ALDS_MAX_COMMANDS": "many", "ALDS_MAX_ASSETS": "0", "ALDS_IDEMPOTENCY_KEEP": "1s",
		"ALDS_WORKER_CONCURRENCY": "0", "ALDS_WEBHOOK_ALLOW_PRIVATE": "perhaps", "ALDS_WEBHOOK_RETRY_SCHEDULE": "5s,soon",
		"ALDS_WEBHOOK_MAX_ENABLED": "-1", "ALDS_WEBHOOK_TIMEOUT": "1h", "ALDS_WEBHOOK_CONNECT_TIMEOUT": "0", "ALDS_WEBHOOK_IN_FLIGHT": "0",
		"ALDS_WEBHOOK_DISABLE_AFTER": "0", "ALDS_WEBHOOK_KEEP": "0s", "ALDS_METRICS_TOKEN": "31characters-hunter2-31characte",
	}
	_, err := FromEnv(func(name string) string { return bad[name] }, true)
	if err == nil {
		t.Fatal("no error")
	}
	for name := range bad {
		if !strings.Contains(err.Error(), name+" is") && !strings.Contains(err.Error(), name+" names") {
			t.Errorf("%s is not told", name)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is told: %v", err)
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(bad) {
		t.Errorf("%d problems for %d bad settings:\n%v", got, len(bad), err)
	}
}

func TestBoundsThatDependOnTheMachine(t *testing.T) {
	c, err := FromEnv(env(), true)
	if err != nil || c.BodyMemory != 0 || c.MaxConns != 0 || c.ConnsPerAddress != 0 || c.MemberRequests != 0 || c.TrustedProxies != nil {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = FromEnv(env("ALDS_BODY_MEMORY", "8GiB", "ALDS_MAX_CONNS", "100", "ALDS_TRUSTED_PROXIES", "10.1.2.3/8, 192.0.2.1,2001:db8::1"), true)
	if err != nil || c.BodyMemory != 8<<30 || c.MaxConns != 100 || fmt.Sprint(c.TrustedProxies) != "[10.0.0.0/8 192.0.2.1/32 2001:db8::1/128]" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	c, err := FromEnv(env("DATABASE_URL", "mysql://alds:hunter2@db/alds", "REDIS_URL", "redis://:hunter2@cache:6379/0?x=hunter2",
		"ALDS_SECRET_KEY", key, "ALDS_ADMIN_PASSWORD", "hunter2"), false)
	if err != nil {
		t.Fatal(err)
	}
	facts := strings.Join(c.Describe(), "\n")
	if strings.Contains(facts, "hunter2") || !strings.Contains(facts, "mysql://alds:[redacted]@db/alds") {
		t.Errorf("facts:\n%s", facts)
	}
	js, _ := json.Marshal(c.AdminPassword)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "p", c.AdminPassword)
	for _, s := range []string{fmt.Sprint(c.AdminPassword), fmt.Sprintf("%v %+v %#v %s %q", c.AdminPassword, c.AdminPassword, c.AdminPassword, c.AdminPassword, c.AdminPassword), string(js), log.String()} {
		if strings.Contains(s, "hunter2") {
			t.Errorf("shown: %s", s)
		}
	}
}

func TestAPasswordThatIsNotEscapedDoesNotShow(t *testing.T) {
	for _, c := range [][2]string{
		{"DATABASE_URL", "mysql://alds:12/hunter2@db:3306/alds"},
		{"DATABASE_URL", "mysql://alds:12?hunter2@db:3306/alds"},
		{"DATABASE_URL", "mysql://alds:12#hunter2@db:3306/alds"},
		{"DATABASE_URL", "mysql://alds:x/hunter2@db:3306/alds"},
		{"DATABASE_URL", "mysql://alds:12/x?hunter2@db:3306/alds"},
		{"REDIS_URL", "redis://:12/hunter2@cache:6379/0"},
		{"REDIS_URL", "redis://cache:12/0#hunter2@cache:6379/0"},
		{"REDIS_URL", "redis://cache:12?hunter2@cache:6379/0"},
		{"REDIS_URL", "redis://:%hunter2@cache:6379/0"},
	} {
		got, err := FromEnv(env("DATABASE_URL", "mysql://a@b/c", "REDIS_URL", "redis://d", "ALDS_SECRET_KEY", key, c[0], c[1]), false)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "%2F") || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%s: %v; %v", c[1], err, got.Describe())
		}
	}
	_, err := FromEnv(env("DATABASE_URL", "mysql://a:12%2Fhunter2%40%23@b/c", "REDIS_URL", "redis://:12%2Fhunter2@d", "ALDS_SECRET_KEY", key), false)
	if err != nil {
		t.Errorf("escaped: %v", err)
	}
}

// fragments returns the parts of a password that no text may contain: all parts of four bytes.
func fragments(password string) (all []string) {
	for i := range len(password) - 3 {
		all = append(all, password[i:i+4])
	}
	return all
}

// TestNoFragmentOfAPasswordShows checks many forms of addresses, valid and invalid, with the
// password escaped and unescaped.
func TestNoFragmentOfAPasswordShows(t *testing.T) {
	good := []string{"DATABASE_URL", "mysql://a@b/c", "REDIS_URL", "redis://d", "ALDS_SECRET_KEY", key}
	for _, address := range [][2]string{
		{"DATABASE_URL", "mysql://alds:%s@db:3306/alds"},
		{"DATABASE_URL", "mysql://alds:%s@db:33O6/alds"},
		{"DATABASE_URL", "mysql://alds:%s@db"},
		{"DATABASE_URL", "mysql://:%s@db/alds"},
		{"DATABASE_URL", "mysql:alds:%s@db/alds"},
		{"DATABASE_URL", "alds:%s@tcp(db:3306)/alds"},
		{"DATABASE_URL", "postgres://alds:%s@db/alds"},
		{"DATABASE_URL", "mysql://db/alds?password=%s@"},
		{"REDIS_URL", "redis://:%s@cache:6379/0"},
		{"REDIS_URL", "redis://%s@cache:6379/0"},
		{"REDIS_URL", "rediss://default:%s@cache:6379"},
		{"REDIS_URL", "redis+sentinel://:%s@cache:26379,other:26379/main"},
		{"REDIS_URL", "redis+cluster://:%s@cache:6379,other:6379"},
		{"REDIS_URL", "redis://cache:6379/%s@"},
		{"REDIS_URL", ":%s@cache:6379"},
		{"ALDS_BLOB_URL", "s3://key:%s@bucket"},
		{"ALDS_BLOB_URL", "s3://bucket?endpoint=https://key:%s@host"},
		{"ALDS_BLOB_URL", "s3://bucket?secret=%s"},
		{"ALDS_BLOB_URL", "http://key:%s@bucket"},
		{"ALDS_PUBLIC_URL", "https://me:%s@host"},
		{"ALDS_DASHBOARDS_URL", "https://me:%s@host"},
		{"ALDS_SECRET_KEY", "%s"},
		{"ALDS_METRICS_TOKEN", "%s"},
	} {
		for _, c := range []string{"@", ":", "/", "#", "%", "?", " ", "%zz", "[", "\\", "&", "=", "12/34", "@h/"} {
			password := "1Kx7" + c + "Qv9w"
			for _, written := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
				value := strings.Replace(address[1], "%s", written, 1)
				got, err := FromEnv(env(append(slices.Clone(good), address[0], value)...), false)
				text := fmt.Sprint(err)
				if err == nil { // only valid settings are described
					text = fmt.Sprint(got.Describe())
				}
				for _, part := range slices.Concat(fragments(password), fragments(written)) {
					if strings.Contains(text, part) {
						t.Errorf("%s=%s shows %q: %s", address[0], value, part, text)
						break
					}
				}
			}
		}
	}
}

func TestCommandsNeedTheDatabaseAlone(t *testing.T) {
	if c, err := ForCommand(env("DATABASE_URL", "mysql://alds:pw@db/alds"), false); err != nil || !c.SecretKey.IsZero() || !c.AdminPassword.IsZero() {
		t.Errorf("got %+v, %v", c, err)
	}
	for name, settings := range map[string][]string{
		"DATABASE_URL is not set":    nil,
		"ALDS_SECRET_KEY is not bas": {"DATABASE_URL", "mysql://a@b/c", "ALDS_SECRET_KEY", "short"},
		"REDIS_URL is not a":         {"DATABASE_URL", "mysql://a@b/c", "REDIS_URL", "http://x"},
	} {
		if _, err := ForCommand(env(settings...), false); err == nil || !strings.HasPrefix(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %s: %v", name, err)
		}
	}
}

// TestMetricsToken checks that a metrics token must be long and have only characters that a header
// can contain. It also checks that the instance cannot be named metrics if a token is set.
func TestMetricsToken(t *testing.T) {
	long := strings.Repeat("Az0-._~+", 4)
	for _, c := range []struct{ token, instance, problem string }{
		{"", "metrics", ""},
		{long, "", ""},
		{long + "/==", "stats", ""},
		{long[1:], "", "ALDS_METRICS_TOKEN is not 32 characters or more"},
		{long + " x", "", "ALDS_METRICS_TOKEN is not 32 characters or more"},
		{strings.Repeat("ä", 40), "", "ALDS_METRICS_TOKEN is not 32 characters or more"},
		{long, "Metrics", "ALDS_METRICS_TOKEN is for the path /metrics"},
	} {
		got, err := FromEnv(env("ALDS_METRICS_TOKEN", c.token, "ALDS_INSTANCE", c.instance), true)
		if c.problem == "" && (err != nil || got.MetricsToken.Reveal() != c.token) || c.problem != "" && (err == nil || !strings.HasPrefix(err.Error(), c.problem)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for name, nearest := range map[string]string{
		"ALDS_SECRETKEY":               "ALDS_SECRET_KEY",
		"ALDS_ADMIN_PASWORD":           "ALDS_ADMIN_PASSWORD",
		"ALDS_WEBHOOKS_ALLOW_PRIVATE":  "ALDS_WEBHOOK_ALLOW_PRIVATE",
		"ALDS_MAX_CONNS_PER_ADDR":      "ALDS_MAX_CONNS_PER_ADDRESS",
		"ALDS_WEBHOOK_RETRY_SCHEDULES": "ALDS_WEBHOOK_RETRY_SCHEDULE",
		"alds_log_level":               "ALDS_LOG_LEVEL",
		"ALDS_FAVOURITE_COLOUR":        "",
		"ALDS_TOKENS":                  "ALDS_TOKEN",
		"ALDS_":                        "",
	} {
		if got := UnknownNames([]string{"HOME", name, "PORT"}); !slices.Equal(got, []Unknown{{name, nearest}}) {
			t.Errorf("%s: %v, want %s", name, got, nearest)
		}
	}
	known := []string{"", "ALDS", "HOME", "DATABASE_URL", "ALDS_TEST_MYSQL", "ALDS_TEST_ANYTHING"}
	for _, s := range Settings() {
		known = append(known, s.Name)
	}
	if got := UnknownNames(known); len(got) > 0 {
		t.Errorf("known ones: %v", got)
	}
	if got := UnknownNames([]string{"ALDS_B", "ALDS_A"}); len(got) != 2 || got[0].Name != "ALDS_A" {
		t.Errorf("two: %v", got)
	}
}

func TestIsLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:80": true, "127.9.9.9:1": true, "[::1]:80": true, "localhost:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.org:80": false, "": false,
		"localhost.example.org:80": false, "[::ffff:127.0.0.1]:80": true,
	} {
		if IsLoopback(addr) != want {
			t.Errorf("IsLoopback(%q) = %v", addr, !want)
		}
	}
}

// TestReplicas checks a list of addresses. Each address is read like the address of the database.
func TestReplicas(t *testing.T) {
	const mysql = "mysql://u:p@h/d"
	for _, c := range []struct {
		database, replicas, want string
	}{
		{mysql, "", "[]"},
		{mysql, "mysql2://u:p@a/d, mariadb://u:p@b:1/d", "[mysql://u:new@a/d mysql://u:new@b:1/d]"},
		{mysql, " jdbc:mysql://a/d?user=u \n mysql://b/d", "[mysql://u:new@a/d mysql://:new@b/d]"},
		{mysql, "mysql://u:p%2Cp@a/d", "[mysql://u:new@a/d]"},
		{mysql, "sqlite:x", "problem"},
		{mysql, "a,b", "problem"},
		{"sqlite:x", mysql, "problem"},
		{"", mysql, "problem"}, // standalone
	} {
		c0, err := FromEnv(env("DATABASE_URL", c.database, "DATABASE_READ_URL", c.replicas, "ALDS_DATABASE_PASSWORD", "new"), c.database == "")
		got := fmt.Sprint(c0.Replicas)
		if err != nil && strings.Contains(err.Error(), "DATABASE_READ_URL ") {
			got = "problem"
		}
		if got != c.want {
			t.Errorf("%q, %q: %s, %v; want %s", c.database, c.replicas, got, err, c.want)
		}
	}
}

// TestEverySettingIsRead compares the table of settings with the variables that are read. A
// setting that is only in the table would be documented but have no effect.
func TestEverySettingIsRead(t *testing.T) {
	asked := map[string]bool{}
	getenv := func(name string) string { asked[name] = true; return "" }
	_, _ = FromEnv(getenv, false)
	ClientFromEnv(getenv)
	for _, s := range Settings() {
		if !asked[s.Name] {
			t.Errorf("%s is in the table and never read", s.Name)
		}
		if s.Meaning == "" {
			t.Errorf("%s has no meaning", s.Name)
		}
		delete(asked, s.Name)
	}
	for name := range asked {
		t.Errorf("%s is read and not in the table", name)
	}
}

func TestTracesAreSentWhereAnEndpointTakesThem(t *testing.T) {
	const all, own, url = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4318"
	for _, c := range []struct {
		want bool
		set  []string
	}{
		{false, nil},
		{false, []string{"OTEL_SERVICE_NAME", "alds", "OTEL_TRACES_EXPORTER", "otlp"}},
		{true, []string{all, url}},
		{true, []string{own, url + "/v1/traces"}},
		{true, []string{all, url, "OTEL_TRACES_EXPORTER", "console, otlp"}},
		{false, []string{all, url, "OTEL_TRACES_EXPORTER", "none"}},
		{false, []string{all, url, "OTEL_SDK_DISABLED", "TRUE"}},
		{true, []string{all, url, "OTEL_SDK_DISABLED", "false"}},
	} {
		got, err := FromEnv(env(c.set...), true)
		if err != nil || got.Traces != c.want || len(got.Warnings) > 0 {
			t.Errorf("%v: %v, %v, warnings %v", c.set, got.Traces, err, got.Warnings)
		}
	}
	got, err := FromEnv(env(all, url, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), true)
	if err != nil || len(got.Warnings) != 1 || got.Warnings[0].Text != warnNoGRPC {
		t.Errorf("gRPC: %v, warnings %v", err, got.Warnings)
	}
}

// TestAnEndpointOfTracesIsAWholeAddress checks that an endpoint must be a complete URL. For an
// incomplete URL, the tracing library would send to another address.
func TestAnEndpointOfTracesIsAWholeAddress(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		for _, value := range []string{"collector:4318", "collector", "grpc://collector:4317", "http://", "http://alds:hush@collector", "https://collector/v1/traces?key=hush", "http://ho st:1"} {
			_, err := FromEnv(env(name, value), true)
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}
