package jobs

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/internal/base/tlsmode"
)

// Queue is the connection to Redis that the clients and workers of a process share.
type Queue struct {
	redis   redis.UniversalClient
	log     *slog.Logger
	metrics *metrics
	outage  logLimit      // limits the log messages about failures of Redis
	pauses  *atomic.Int64 // number of pauses after failed commands
}

// Open returns a Queue for the address of a Redis server. The Queue connects on first use, so Open
// returns no error if Redis does not answer.
//
// The address has one of these forms:
//
//	redis://[user:password@]host:port/db
//	redis+sentinel://[user:password@]host:port[,host:port]/master[?db=n]
//	redis+cluster://[user:password@]host:port[,host:port]
//
// With rediss instead of redis, the connections to the servers and to the sentinels use TLS. The
// parameters of package tlsmode are allowed, except tls=preferred.
func Open(address string, log *slog.Logger, registerer Registerer) (*Queue, error) {
	client, err := newClient(address)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	q := &Queue{redis: client, log: log, metrics: newMetrics(registerer), pauses: new(atomic.Int64)}
	client.AddHook(pauseHook{q.pauses})
	return q, nil
}

// Ping returns an error if Redis does not answer.
func (q *Queue) Ping(ctx context.Context) error { return q.redis.Ping(ctx).Err() }

// Close closes the connections.
func (q *Queue) Close() error { return q.redis.Close() }

func newClient(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the Redis address cannot be read") // err contains the password
	}
	password, _ := u.User.Password()
	user := u.User.Username()
	secure, err := secureBy(u)
	if err != nil {
		return nil, fmt.Errorf("the Redis address: %w", err)
	}
	switch u.Scheme {
	case "redis", "rediss":
		return single(u, user, password, secure)
	case "redis+sentinel", "redis-sentinel", "rediss+sentinel":
		return sentinel(u, user, password, secure)
	case "redis+cluster", "redis-cluster", "rediss+cluster":
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: hosts(u, "6379"), Username: user, Password: password, TLSConfig: secure,
			DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
		}), nil
	}
	return nil, fmt.Errorf("the Redis address has the unknown scheme %q", u.Scheme)
}

func single(u *url.URL, user, password string, secure *tls.Config) (redis.UniversalClient, error) {
	db, err := number(cmp.Or(strings.Trim(u.Path, "/"), u.Query().Get("db")))
	if err != nil {
		return nil, err
	}
	return redis.NewClient(&redis.Options{
		Addr: hosts(u, "6379")[0], Username: user, Password: password, DB: db, TLSConfig: secure,
		DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
	}), nil
}

func sentinel(u *url.URL, user, password string, secure *tls.Config) (redis.UniversalClient, error) {
	master := strings.Trim(u.Path, "/")
	if name := u.Query().Get("master"); name != "" {
		master = name
	}
	if master == "" {
		return nil, errors.New("the Redis address has no name of a sentinel master")
	}
	db, err := number(u.Query().Get("db"))
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: master, SentinelAddrs: hosts(u, "26379"), DB: db, TLSConfig: secure,
		Username: user, Password: password, SentinelUsername: user, SentinelPassword: password,
		DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
	}), nil
}

func number(db string) (int, error) {
	if db == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(db)
	if err != nil || n < 0 {
		return 0, errors.New("the database in the Redis address is not a number")
	}
	return n, nil
}

func hosts(u *url.URL, port string) []string {
	all := strings.Split(u.Host, ",")
	for i, h := range all {
		if _, _, err := net.SplitHostPort(h); err != nil {
			all[i] = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
	}
	return all
}

// secureBy returns the TLS configuration, or nil for an address without TLS. The certificate of a
// server must be valid for the host name or IP address to which the client connects. For a master,
// this is the address that the sentinels report.
func secureBy(u *url.URL) (*tls.Config, error) {
	mode := u.Query().Get("tls")
	switch {
	case mode == tlsmode.Preferred:
		return nil, errors.New("tls=preferred is not possible with Redis")
	case mode == "" && strings.HasPrefix(u.Scheme, "rediss"):
		mode = tlsmode.Verify
	}
	return tlsmode.New(mode, u.Query().Get("tls-ca"))
}

// isHandshake reports whether a command belongs to the start of a connection. Servers before Redis
// 7.2 refuse some of these commands, and the library ignores these errors.
func isHandshake(cmd redis.Cmder) bool { return cmd.Name() == "client" || cmd.Name() == "hello" }

// pauseHook waits after a failed command. Without the pause, the queue library would send the next
// command at once, and would run in a busy loop while Redis does not answer.
type pauseHook struct{ pauses *atomic.Int64 }

func (pauseHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h pauseHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.pauseAfter(ctx, err, cmd)
		return err
	}
}

func (h pauseHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		h.pauseAfter(ctx, err, cmds...)
		return err
	}
}

func (h pauseHook) pauseAfter(ctx context.Context, err error, cmds ...redis.Cmder) {
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(err, context.Canceled) || slices.ContainsFunc(cmds, isHandshake) {
		return
	}
	if _, ok := errors.AsType[redis.Error](err); ok && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return // the library sends the script next
	}
	h.pauses.Add(1)
	select {
	case <-ctx.Done():
	case <-time.After(errorPause):
	}
}
