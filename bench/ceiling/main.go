// Command ceiling measures how many single writes a second several api processes make on
// one database, and what a longer way to it costs.
//
//	go run ./bench/ceiling                       about three minutes
//	go run ./bench/ceiling -work update          updates alone; create: creates alone
//	go run ./bench/ceiling -rtt 0,5ms -apis 1,8  other ways, other numbers of processes
//
// It makes an installation of its own, with projects, members and stories, and drops its
// database at the end. For each round trip and number of processes it starts the real api
// so many times. Clients, each a member with a token and a connection of its own, are
// spread over the processes; each sends its next write once the last one is answered: in
// turn a create of a story with a description of some 600 bytes, and a new estimate of
// some other story.
//
// The way to the database is a proxy in this process that delays what it is sent in each
// direction and limits nothing: chunks follow each other as closely as without it. What
// the way takes without a delay, proxy and server included, is measured first and is part
// of the round trip that the flag names; where it is longer than that, nothing is added,
// and the round trip is that of the loopback.
// The table has the round trip as asked for, and as a SELECT 1 beside the load found it,
// which waits for processors, too.
//
// The proxy also counts. The statements of a write are all that the database executes for
// it, begin and commit included; its round trips are how often the api waits for an answer
// of the database. Both are those of a client that is alone, after its connections have
// prepared their statements.
//
// Clients, proxy, processes and database share the machine; the table tells what each of
// them used.
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

// list reads a flag of several values with commas between them.
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

// hostOf is host and port of the URL of a database.
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

// through is the URL of a database by way of another host and port.
func through(address, host string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("want mysql://user:pass@host:3306/name")
	}
	u.Host = host
	return u.String(), nil
}
