package jobs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Queue is the connection to Redis that clients and workers of a process share.
type Queue struct {
	redis   redis.UniversalClient
	log     *slog.Logger
	metrics *metrics
	outage  logLimit // of messages that Redis does not answer
}

// Open reads the address. Connections are made when they are needed, so that a
// Redis that does not answer is no error here.
//
// Shape: redis://[user:password@]host:port/db, rediss:// for TLS,
// redis+sentinel://[user:password@]host:port[,host:port]/master[?db=n],
// redis+cluster://[user:password@]host:port[,host:port].
func Open(address string, log *slog.Logger, registerer Registerer) (*Queue, error) {
	client, err := newClient(address)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	client.AddHook(pauseHook{})
	return &Queue{redis: client, log: log, metrics: newMetrics(registerer)}, nil
}

// Ping reports whether Redis answers.
func (q *Queue) Ping(ctx context.Context) error { return q.redis.Ping(ctx).Err() }

// Close ends the connections.
func (q *Queue) Close() error { return q.redis.Close() }

func newClient(address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the Redis address cannot be read") // the cause would hold the password
	}
	password, _ := u.User.Password()
	user := u.User.Username()
	switch u.Scheme {
	case "redis", "rediss":
		return single(u, user, password)
	case "redis+sentinel", "redis-sentinel", "rediss+sentinel":
		return sentinel(u, user, password)
	case "redis+cluster", "redis-cluster", "rediss+cluster":
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: hosts(u, "6379"), Username: user, Password: password, TLSConfig: secure(u),
			DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
		}), nil
	}
	return nil, fmt.Errorf("the Redis address has the unknown scheme %q", u.Scheme)
}

func single(u *url.URL, user, password string) (redis.UniversalClient, error) {
	db, err := number(strings.Trim(u.Path, "/"))
	if err != nil {
		return nil, err
	}
	return redis.NewClient(&redis.Options{
		Addr: hosts(u, "6379")[0], Username: user, Password: password, DB: db, TLSConfig: secure(u),
		DialTimeout: redisTimeout, ReadTimeout: redisTimeout, WriteTimeout: redisTimeout,
	}), nil
}

func sentinel(u *url.URL, user, password string) (redis.UniversalClient, error) {
	master := strings.Trim(u.Path, "/")
	if name := u.Query().Get("master"); name != "" {
		master = name
	}
	if master == "" {
		return nil, errors.New("the Redis address names no sentinel master")
	}
	db, err := number(u.Query().Get("db"))
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: master, SentinelAddrs: hosts(u, "26379"), DB: db, TLSConfig: secure(u),
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
		return 0, errors.New("the Redis address names a database that is no number")
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

func secure(u *url.URL) *tls.Config {
	if !strings.HasPrefix(u.Scheme, "rediss") {
		return nil
	}
	name := ""
	if !strings.Contains(u.Host, ",") {
		name = u.Hostname()
	}
	return &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
}

// pauseHook waits after a failed command: the queue library sends the next one
// at once and would spin while Redis does not answer.
type pauseHook struct{}

func (pauseHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (pauseHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		pauseAfter(ctx, err)
		return err
	}
}

func (pauseHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		pauseAfter(ctx, err)
		return err
	}
}

func pauseAfter(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(err, context.Canceled) {
		return
	}
	if answer := redis.Error(nil); errors.As(err, &answer) && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return // the library sends the script next
	}
	select {
	case <-ctx.Done():
	case <-time.After(errorPause):
	}
}
