package config

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/base/tlsmode"
)

const (
	defaultPassword = "admin"
	keySize         = 32
)

// Config has the settings of a process. SettingGroups describes their meaning.
type Config struct {
	Standalone bool
	Warnings   []Warning

	Addr         string // host:port the api listens on
	AdminAddr    string // empty: a free loopback port
	Instance     string // first segment of every path, without slashes
	MetricsToken Secret // zero: the api serves no metrics at Addr
	PublicURL    string // includes the instance, has no slash at the end; empty: derived from the address

	Database string   // in the form that package db reads; it has a password: do not print it, use Describe
	Replicas []string // like Database; empty: no replicas
	Redis    string   // in the form that package jobs reads, with a password; empty: a queue in the process
	DataDir  string

	AdminPassword Secret // first password of the administrator in a new database; zero: not set
	SecretKey     Secret // the raw keys, 32 bytes each; zero: the key is in SecretKeyFile
	SecretKeyFile string // key file of a standalone without ALDS_SECRET_KEY; empty: SecretKey is used

	LogLevel slog.Level
	Traces   bool // true: traces are sent; the library in package tracing reads the other variables for traces

	RequestTimeout  time.Duration
	ShutdownDelay   time.Duration
	ShutdownGrace   time.Duration
	DBConns         int
	DBWriteLimit    time.Duration
	MaxBody         int    // bytes
	MaxAttachment   int    // bytes
	BlobURL         Secret // storage of attachments, with its password; zero: the database
	BodyMemory      int    // bytes; 0: depends on the memory that the process may use
	MaxConns        int    // 0: depends on the limit of descriptors
	ConnsPerAddress int    // 0: depends on MaxConns
	TrustedProxies  []netip.Prefix
	OpenMetadata    bool
	DashboardsURL   string // dashboards for administrators; empty: none
	Methodology     string // Scrum, XP, AgileUP or DSDM
	MemberRequests  int    // 0: depends on DBConns
	MaxAnswer       int    // bytes
	MaxCommands     int
	MaxAssets       int
	IdempotencyKeep time.Duration
	AuditKeep       time.Duration
	VersionKeep     time.Duration // 0: forever

	WorkerConcurrency     int
	WebhookAllowPrivate   bool
	WebhookRetrySchedule  []time.Duration
	WebhookMaxEnabled     int // 0: no limit
	WebhookTimeout        time.Duration
	WebhookConnectTimeout time.Duration
	WebhookInFlight       int
	WebhookDisableAfter   int
	WebhookKeep           time.Duration
}

// FromEnv reads the settings of a role. Standalone has defaults for all of them.
// Errors: one error that lists all problems, each on a line.
func FromEnv(getenv func(string) string, standalone bool) (Config, error) {
	return read(getenv, standalone, "DATABASE_URL", "REDIS_URL", "ALDS_SECRET_KEY")
}

// ForCommand reads the settings of a command. A command needs only the database, so only
// DATABASE_URL is required. Errors: as FromEnv.
func ForCommand(getenv func(string) string, standalone bool) (Config, error) {
	return read(getenv, standalone, "DATABASE_URL")
}

// AdminAddr reads only ALDS_ADMIN_ADDR. Errors: also if it is not set.
func AdminAddr(getenv func(string) string) (string, error) {
	r := newReader(getenv)
	addr := r.address("ALDS_ADMIN_ADDR")
	if addr == "" {
		r.problem("ALDS_ADMIN_ADDR", "is not set; the process listens on a free port; its log shows the port")
	}
	return addr, r.err()
}

// read reads the settings. Except for standalone, the settings in required must be set.
func read(getenv func(string) string, standalone bool, required ...string) (Config, error) {
	r := newReader(getenv)
	c := Config{
		Standalone:      standalone,
		AdminAddr:       r.address("ALDS_ADMIN_ADDR"),
		Instance:        r.segment("ALDS_INSTANCE"),
		PublicURL:       r.publicURL("ALDS_PUBLIC_URL"),
		MetricsToken:    r.token("ALDS_METRICS_TOKEN"),
		DataDir:         r.text("ALDS_DATA_DIR"),
		AdminPassword:   newSecret(r.password("ALDS_ADMIN_PASSWORD")),
		RequestTimeout:  r.duration("ALDS_REQUEST_TIMEOUT", time.Second, time.Hour),
		ShutdownDelay:   r.duration("ALDS_SHUTDOWN_DELAY", 0, time.Hour),
		ShutdownGrace:   r.duration("ALDS_SHUTDOWN_GRACE", time.Second, time.Hour),
		DBConns:         r.number("ALDS_DB_CONNS", 2, 10_000),
		DBWriteLimit:    r.duration("ALDS_DB_WRITE_LIMIT", time.Second, time.Hour),
		MaxBody:         r.size("ALDS_MAX_BODY", 1<<10, 1<<30),
		MaxAttachment:   r.size("ALDS_MAX_ATTACHMENT", 1<<10, 1<<30),
		BlobURL:         r.blobs("ALDS_BLOB_URL"),
		BodyMemory:      r.unsetOr("ALDS_BODY_MEMORY", func() int { return r.size("ALDS_BODY_MEMORY", 1<<20, 1<<50) }),
		MaxConns:        r.unsetOr("ALDS_MAX_CONNS", func() int { return r.number("ALDS_MAX_CONNS", 2, 1_000_000) }),
		ConnsPerAddress: r.unsetOr("ALDS_MAX_CONNS_PER_ADDRESS", func() int { return r.number("ALDS_MAX_CONNS_PER_ADDRESS", 1, 1_000_000) }),
		TrustedProxies:  r.networks("ALDS_TRUSTED_PROXIES"),
		OpenMetadata:    r.flag("ALDS_OPEN_METADATA", false),
		DashboardsURL:   r.link("ALDS_DASHBOARDS_URL"),
		Methodology:     r.oneOf("ALDS_METHODOLOGY", []string{"Scrum", "XP", "AgileUP", "DSDM"}),
		MemberRequests:  r.unsetOr("ALDS_MEMBER_REQUESTS", func() int { return r.number("ALDS_MEMBER_REQUESTS", 1, 10_000) }),
		MaxAnswer:       r.size("ALDS_MAX_ANSWER", 1<<20, 1<<40),
		MaxCommands:     r.number("ALDS_MAX_COMMANDS", 1, 1_000_000),
		MaxAssets:       r.number("ALDS_MAX_ASSETS", 1, 1_000_000),
		IdempotencyKeep: r.duration("ALDS_IDEMPOTENCY_KEEP", time.Minute, 365*24*time.Hour),
		AuditKeep:       r.duration("ALDS_AUDIT_KEEP", time.Hour, 10*365*24*time.Hour),
	}
	if r.text("ALDS_VERSION_KEEP") != "" {
		c.VersionKeep = r.duration("ALDS_VERSION_KEEP", 24*time.Hour, 100*365*24*time.Hour)
	}
	c.readLogLevel(r)
	c.readTraces(r)
	c.readWebhooks(r)
	c.readServices(r)
	c.Warnings = r.warnings
	if standalone {
		c.standalone()
		return c, r.err()
	}
	for _, name := range required {
		if r.getenv(name) == "" {
			r.problem(name, "is not set; only standalone works without it")
		}
	}
	return c, r.err()
}

// standalone sets the defaults that only standalone has.
func (c *Config) standalone() {
	if c.Database == "" {
		c.Database = "sqlite:" + filepath.Join(c.DataDir, "alds.db")
	}
	if c.SecretKey.IsZero() {
		c.SecretKeyFile = filepath.Join(c.DataDir, "secret.key")
	}
	if c.AdminPassword.IsZero() {
		c.AdminPassword = newSecret(defaultPassword)
	}
}

func (c *Config) readLogLevel(r *reader) {
	if err := c.LogLevel.UnmarshalText([]byte(r.oneOf("ALDS_LOG_LEVEL", []string{"debug", "info", "warn", "error"}))); err != nil {
		c.LogLevel = slog.LevelInfo // oneOf has reported the problem
	}
}

func (c *Config) readWebhooks(r *reader) {
	c.WorkerConcurrency = r.number("ALDS_WORKER_CONCURRENCY", 1, 10_000)
	c.WebhookRetrySchedule = r.durations("ALDS_WEBHOOK_RETRY_SCHEDULE")
	c.WebhookMaxEnabled = r.number("ALDS_WEBHOOK_MAX_ENABLED", 0, 1_000_000)
	c.WebhookTimeout = r.duration("ALDS_WEBHOOK_TIMEOUT", 10*time.Millisecond, 10*time.Minute)
	c.WebhookConnectTimeout = r.duration("ALDS_WEBHOOK_CONNECT_TIMEOUT", 10*time.Millisecond, 10*time.Minute)
	c.WebhookInFlight = r.number("ALDS_WEBHOOK_IN_FLIGHT", 1, 10_000)
	c.WebhookDisableAfter = r.number("ALDS_WEBHOOK_DISABLE_AFTER", 1, 1_000_000)
	c.WebhookKeep = r.duration("ALDS_WEBHOOK_KEEP", time.Minute, 365*24*time.Hour)
}

// readServices reads the settings whose defaults differ between standalone and the other roles.
func (c *Config) readServices(r *reader) {
	port := r.number("PORT", 0, 65535)
	if c.Addr = r.address("ALDS_ADDR"); c.Addr == "" {
		host := ""
		if c.Standalone {
			host = "127.0.0.1"
		}
		c.Addr = net.JoinHostPort(host, fmt.Sprint(port))
	}
	c.WebhookAllowPrivate = r.flag("ALDS_WEBHOOK_ALLOW_PRIVATE", c.Standalone && IsLoopback(c.Addr))
	database := r.server("DATABASE_URL", "ALDS_DATABASE", tlsmode.Modes()...)
	replicas := database
	replicas.setting = "DATABASE_READ_URL"
	c.Database = r.database(database)
	c.Replicas = r.replicas(replicas, c.Standalone || strings.HasPrefix(c.Database, sqliteScheme))
	c.Redis = r.redis("REDIS_URL")
	c.SecretKey = r.keys("ALDS_SECRET_KEY")
}

// HasDefaultPassword reports whether the administrator's password for a new database is the
// default password of standalone.
func (c Config) HasDefaultPassword() bool { return c.AdminPassword.Reveal() == defaultPassword }

// BaseURL returns the URL of the instance as clients see it, for an api that listens on addr
// (host:port).
func (c Config) BaseURL(addr string) string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr + "/" + c.Instance
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/" + c.Instance
}

// IsLoopback reports whether addr (host:port) can be reached only from this machine.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	host, _, _ = strings.Cut(host, "%")
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Describe returns the settings for the log line at the start, without secrets, such as
// "database mysql://alds:[redacted]@db:3306/alds".
func (c Config) Describe() []string {
	queue := "queue in the process"
	if c.Redis != "" {
		queue = "queue " + redactURL(c.Redis)
	}
	key := "secret key from the environment"
	if c.SecretKeyFile != "" {
		key = "secret key in " + c.SecretKeyFile
	}
	all := []string{
		"listens on " + c.Addr,
		"base URL " + c.BaseURL(c.Addr),
		"database " + redactURL(c.Database),
		queue,
		key,
		fmt.Sprintf("webhooks to private addresses: %v", c.WebhookAllowPrivate),
	}
	for _, address := range c.Replicas {
		all = append(all, "replica "+redactURL(address))
	}
	return all
}

func decodeKey(text string) ([]byte, bool) {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := e.DecodeString(text); err == nil && len(key) == keySize {
			return key, true
		}
	}
	return nil, false
}
