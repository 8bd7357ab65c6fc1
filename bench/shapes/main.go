// Command shapes measures queries for which a database may repeat work on every row:
// conditions, sums and sort orders over something that many rows share.
//
//	go run ./bench/shapes                        20,000 and 200,000 stories on SQLite and MariaDB
//	go run ./bench/shapes -servers sqlite -sizes 20000
//	go run ./bench/shapes -servers mysql://root@127.0.0.1:3307 -only Owners
//
// Each row of the table is a query. Each column is a server with a number of stories, in
// projects that were filled one after another. A cell is the best time of a few runs over
// HTTP, in seconds. "growth" is the time of the largest size divided by that of the smallest.
// All servers run the same queries and must return the same number of rows and the same first
// row.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the flags.
type options struct {
	servers, redis, only string
	sizes                []int
	runs                 int
	limit                time.Duration
}

func main() { rig.Main("shapes", run) }

func parseFlags(args []string) (options, error) {
	var o options
	var sizes string
	f := flag.NewFlagSet("shapes", flag.ContinueOnError)
	f.StringVar(&o.servers, "servers", "sqlite,mysql://root@127.0.0.1:3306", "servers, with commas between them; sqlite is a file of its own")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of the service; not for sqlite")
	f.StringVar(&sizes, "sizes", "20000,200000", "numbers of stories, with commas between them")
	f.StringVar(&o.only, "only", "", "measure only the shapes whose name holds this text")
	f.IntVar(&o.runs, "runs", 3, "how often each query is asked, at most")
	f.DurationVar(&o.limit, "limit", time.Minute, "longest time of a query")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < storiesOfProject {
			return o, fmt.Errorf("-sizes are numbers of stories from %d", storiesOfProject)
		}
		o.sizes = append(o.sizes, n)
	}
	slices.Sort(o.sizes)
	if o.runs < 1 {
		return o, errors.New("-runs is at least 1")
	}
	return o, nil
}

// result is the result of one shape on one server with one size.
type result struct {
	took  time.Duration
	rows  int
	first string
	err   error
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	servers := strings.Split(o.servers, ",")
	results := map[string][][]result{} // by name of the shape, then server, then size
	for _, size := range o.sizes {
		for i, server := range servers {
			if err := one(ctx, o, server, size, func(name string, r result) {
				for len(results[name]) <= i {
					results[name] = append(results[name], nil)
				}
				results[name][i] = append(results[name][i], r)
				fmt.Fprintf(out, "%-8s %8d  %-58s %9.3f s %8d rows %s\n", nameOf(server), size, name, r.took.Seconds(), r.rows, errorText(r.err))
			}); err != nil {
				return err
			}
		}
	}
	print(o, servers, results, out)
	return compare(results, len(o.sizes))
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%.150s", err)
}

// nameOf returns the name of a server in the table.
func nameOf(server string) string {
	if server == sqlite {
		return server
	}
	return server[strings.LastIndex(server, ":"):]
}

// sqlite is the entry in -servers for a SQLite file.
const sqlite = "sqlite"

// one measures all shapes on a server with this number of stories.
func one(ctx context.Context, o options, server string, stories int, done func(name string, r result)) (err error) {
	site, err := rig.NewSite(ctx, siteOptions(o, server))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	if err := fill(site, stories); err != nil {
		return err
	}
	if err := analyze(ctx, site); err != nil {
		return err
	}
	for _, s := range shapes() {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		done(s.name, measure(site, s, o))
	}
	return nil
}

func siteOptions(o options, server string) rig.SiteOptions {
	settings := []string{"ALDS_REQUEST_TIMEOUT=" + o.limit.String()}
	if server == sqlite {
		return rig.SiteOptions{Name: "shapes", Commands: []string{"standalone"}, Settings: settings, Silent: true}
	}
	return rig.SiteOptions{Name: "shapes", MySQL: server, Redis: o.redis, Commands: []string{"api"}, Settings: settings, Silent: true}
}

// analyze updates the planner statistics of a server, so that they are as current as on a
// server in use. SQLite does this by itself.
func analyze(ctx context.Context, site *rig.Site) error {
	if site.Admin == nil {
		return nil
	}
	for _, table := range []string{"asset", "asset_link", "asset_version"} {
		if _, err := site.Admin.Exec(ctx, "ANALYZE TABLE `"+site.Name+"`.`"+table+"`"); err != nil {
			return err
		}
	}
	return nil
}

// own matches the values that differ between servers: the numbers of assets and the times of
// their changes.
var own = regexp.MustCompile(`"(_oid|CreateDate|ChangeDate)":"[^"]*",?`)

// measure runs a query a few times and returns the best time. A query of more than two seconds
// is not repeated.
func measure(site *rig.Site, s shape, o options) result {
	var best result
	for i := range o.runs {
		began := time.Now()
		var answer [][]json.RawMessage
		err := site.Post("/query.v1", s.query, &answer)
		took := time.Since(began)
		if err != nil {
			return result{took: took, err: err}
		}
		if i == 0 || took < best.took {
			best = result{took: took, rows: len(answer[0])}
			if len(answer[0]) > 0 {
				best.first = own.ReplaceAllString(string(answer[0][0]), "")
			}
		}
		if took > 2*time.Second {
			break
		}
	}
	return best
}

// print prints the table.
func print(o options, servers []string, results map[string][][]result, out io.Writer) {
	fmt.Fprintf(out, "\nload %s\n%-58s", rig.Load(), "seconds")
	for _, server := range servers {
		for _, size := range o.sizes {
			fmt.Fprintf(out, " %14s", nameOf(server)+" "+strconv.Itoa(size))
		}
		fmt.Fprintf(out, " %8s", "growth")
	}
	fmt.Fprintln(out)
	for _, s := range shapes() {
		of, ok := results[s.name]
		if !ok {
			continue
		}
		fmt.Fprintf(out, "%-58s", s.name)
		for _, sizes := range of {
			for _, r := range sizes {
				if r.err != nil {
					fmt.Fprintf(out, " %14s", "refused")
					continue
				}
				fmt.Fprintf(out, " %14.3f", r.took.Seconds())
			}
			fmt.Fprintf(out, " %7.1f×", sizes[len(sizes)-1].took.Seconds()/sizes[0].took.Seconds())
		}
		fmt.Fprintln(out)
	}
}

// compare returns an error if a query was refused or the servers returned different answers.
func compare(results map[string][][]result, sizes int) error {
	for name, of := range results {
		for size := range sizes {
			for _, server := range of {
				got, want := server[size], of[0][size]
				switch {
				case got.err != nil:
					return fmt.Errorf("%s: %w", name, got.err)
				case got.rows != want.rows || got.first != want.first:
					at := 0
					for at < min(len(got.first), len(want.first)) && got.first[at] == want.first[at] {
						at++
					}
					from := max(0, at-50)
					return fmt.Errorf("%s: one server answers %d rows, the first with …%.150s, another %d with …%.150s", name, want.rows, want.first[from:], got.rows, got.first[from:])
				}
			}
		}
	}
	return nil
}
