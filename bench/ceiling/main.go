// Command ceiling measures how many single writes per second several api processes make on one
// database. It also measures the cost of a longer round trip to the database.
//
//	go run ./bench/ceiling                       about three minutes
//	go run ./bench/ceiling -work update          only updates; create: only creates
//	go run ./bench/ceiling -rtt 0,5ms -apis 1,8  other round trips and numbers of processes
//
// It makes a separate installation with projects, members and stories, and drops its database
// at the end. For each round trip and number of processes, it starts that many real api
// processes. The clients are spread over the processes; each client is a member with a token
// and a separate connection. A client sends its next write after the answer to the last one.
// It alternates between two writes: it creates a story with a description of about 600 bytes,
// and it sets a new estimate on another story.
//
// A proxy in this process lengthens the round trip to the database. It delays all data in each
// direction, but it does not limit the throughput. The round trip without a delay, through
// proxy and server, is measured first and counts as part of the round trip in -rtt. If it is
// already longer than that, the proxy adds no delay. The table has the requested round trip
// and the round trip of a SELECT 1 during the load. The latter includes time that the SELECT
// waits for a processor.
//
// The proxy also counts the statements and round trips of a single client, after its
// connections have prepared their statements. The statements of a write are all that the
// database executes for it, including begin and commit. The round trips of a write are the
// number of times that the api waits for an answer of the database.
//
// Clients, proxy, processes and database share the machine. The table shows how much processor
// time each of them used.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the flags.
type options struct {
	mysql, redis string
	apis         []int
	clients      []int
	rtts         []time.Duration
	seconds      float64
	stories      int
	work         string
}

func main() { rig.Main("ceiling", run) }

func parseFlags(args []string) (options, error) {
	o := options{apis: []int{1, 2, 4}, clients: []int{8, 32}, rtts: []time.Duration{100 * time.Microsecond, 2 * time.Millisecond}}
	f := flag.NewFlagSet("ceiling", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make a database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/13", "Redis database")
	f.Func("apis", "numbers of api processes (default 1,2,4)", list(&o.apis, positive))
	f.Func("clients", "numbers of clients, spread over the processes (default 8,32)", list(&o.clients, positive))
	f.Func("rtt", "round trips to the database (default 0.1ms,2ms)", list(&o.rtts, trip))
	f.Float64Var(&o.seconds, "seconds", 8, "how long each row is measured; a quarter of it goes before")
	f.IntVar(&o.stories, "stories", 4_000, "stories that are there and get new estimates")
	f.StringVar(&o.work, "work", "mix", "create, update or mix, which is half of each")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.seconds <= 0 || o.stories < 1 {
		return o, fmt.Errorf("-seconds and -stories are more than 0")
	}
	if kinds[o.work] == nil {
		return o, fmt.Errorf("-work is create, update or mix")
	}
	return o, nil
}

// list returns a parser for a flag with several values, separated by commas.
func list[T any](into *[]T, one func(string) (T, error)) func(string) error {
	return func(text string) error {
		*into = nil
		for part := range strings.SplitSeq(text, ",") {
			v, err := one(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			*into = append(*into, v)
		}
		return nil
	}
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = fmt.Errorf("%d is less than 1", n)
	}
	return n, err
}

func trip(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is less than 0", d)
	}
	return d, err
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	s, err := newSite(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	w, err := s.fill(ctx)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	b, err := newBench(ctx, o, s, w, out)
	if err != nil {
		return err
	}
	defer func() {
		if closed := b.close(); err == nil {
			err = closed
		}
	}()
	return b.run(ctx)
}

// hostOf returns host and port of a database URL. The default port is 3306.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("want mysql://user:pass@host:3306")
	}
	if u.Port() == "" {
		return u.Hostname() + ":3306", nil
	}
	return u.Host, nil
}

// through returns a database URL with another host and port.
func through(address, host string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("want mysql://user:pass@host:3306/name")
	}
	u.Host = host
	return u.String(), nil
}
