package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// peers are attributes whose queries are compared. Every story has the same value in all of them, so
// the queries have equal answers. The attributes are a built-in attribute, a custom attribute that is
// stored in a column or in links, and a custom attribute that is stored in JSON. The columns of
// built-in attributes have no index, except in rows of the table with "(index)".
type peers struct {
	what  string
	names []string
	// filter returns the filter of variant n. name is the attribute that it compares. The filter
	// matches a hundredth or a thousandth of the stories. If filter is nil, the query has no
	// filter and sorts by the attribute.
	filter func(name string, n int) string
}

// customPeers returns the comparisons.
func customPeers() []peers {
	number, date := []string{"Estimate", "Custom_Number", "Custom_NumberJSON"}, []string{"CreateDate", "Custom_Date", "Custom_DateJSON"}
	text := []string{"Name", "Custom_Text", "Custom_TextJSON"}
	value := func(name string, n int) string { return fmt.Sprintf("%s='%s'", name, customValue(name, n)) }
	return []peers{
		{"number, =", number, func(name string, n int) string { return fmt.Sprintf("%s='%d.5'", name, n) }},
		{"number, >", number, func(name string, n int) string { return fmt.Sprintf("%s>'%d'", name, 990-n%5) }},
		{"date, <", date, func(name string, n int) string {
			return fmt.Sprintf("%s<'%s'", name, customDay(1+n%10).Format(time.DateOnly))
		}},
		{"text, =", text, func(name string, n int) string { return fmt.Sprintf("%s='%s'", name, customText(n)) }},
		{"text, ~=", text, func(name string, n int) string { return fmt.Sprintf("%s~='kind %d'", name, 990+n%10) }},
		{"relation to one, =", []string{"Source", "Custom_Origin"}, value},
		{"relation to one, = (index)", []string{"Status", "Custom_Origin"}, value},
		{"number, sort", number, nil},
		{"date, sort", date, nil},
		{"text, sort", text, nil},
		{"relation to one, sort", []string{"Source", "Custom_Origin"}, nil},
		{"relation to one, sort (index)", []string{"Status", "Custom_Origin"}, nil},
	}
}

// query returns the query of variant n with an attribute. name is the name of the attribute. The query
// finds all stories that match the filter. Without a filter, it finds the first 50 of all stories,
// sorted by the attribute.
func (p *peers) query(name string, n int) string {
	if p.filter == nil {
		return fmt.Sprintf(`{"from": "Story", "select": ["Name"], "sort": ["%s"], "page": {"start": 0, "size": 50}}`, name)
	}
	return fmt.Sprintf(`{"from": "Story", "select": ["Name"], "filter": ["%s"]}`, p.filter(name, n))
}

// custom compares queries with custom attributes and the same queries with built-in
// attributes, on the server and on a SQLite file.
func custom(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "alds-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Fprintf(out, "%d stories; milliseconds at one client, asked in turn\n\n", o.assets)
	fmt.Fprintln(out, "| Database | Work | bytes | own p50 | custom p50 | ratio | in the JSON p50 | ratio |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	for _, name := range []string{"server", "SQLite"} {
		var d *rig.Database
		if name == "server" {
			d, err = rig.Open(ctx, o.mysql, o.redis, fmt.Sprintf("alds_bench_custom_%d", os.Getpid()), false)
		} else {
			d, err = rig.OpenFile(ctx, filepath.Join(dir, "bench.db"), o.redis)
		}
		if err != nil {
			return err
		}
		err = customOn(ctx, o, d, name, out)
		if err = errors.Join(err, d.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// customOn fills a database and measures on it.
func customOn(ctx context.Context, o options, d *rig.Database, name string, out io.Writer) error {
	if err := fillCustom(ctx, d.DB, o.assets); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	token, err := rig.Token(ctx, d.DB, "admin")
	if err != nil {
		return err
	}
	service, err := rig.Serve(ctx, d)
	if err != nil {
		return err
	}
	defer service.Stop()
	c, err := rig.Dial(service.Addr)
	if err != nil {
		return err
	}
	defer closeAll(c)
	for _, p := range customPeers() {
		if !strings.Contains(p.what, o.only) {
			continue
		}
		took := make([][]time.Duration, len(p.names))
		size, err := p.measure(ctx, o, c, token, took)
		if err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		line := fmt.Sprintf("| %s | %s | %d | %s |", name, p.what, size, rig.Ms(rig.Median(took[0])))
		for _, times := range took[1:] {
			line += fmt.Sprintf(" %s | %.2f |", rig.Ms(rig.Median(times)), ratio(times, took[0]))
		}
		if len(took) == 2 {
			line += " | |"
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// ratio divides each time in a by the time of the same turn in b, and returns the median of these
// ratios. It compares within a turn, because the load of the machine changes between turns.
func ratio(a, b []time.Duration) float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = float64(a[i]) / float64(b[i])
	}
	return rig.Median(all)
}

// measure runs the query of each attribute in turn. It returns an error if the answers are not
// equal. The attribute that comes first changes with each turn. size is the size of the last
// answer in bytes.
func (p *peers) measure(ctx context.Context, o options, c *rig.Conn, token string, took [][]time.Duration) (size int, err error) {
	start := time.Now()
	for i := 0; i < 2+3*o.rounds || time.Since(start) < o.budget; i++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var first []byte
		for k := range p.names {
			at := (k + i) % len(p.names)
			began := time.Now()
			body, err := c.Ask(rig.Post("/alds/query.v1", token, p.query(p.names[at], i%50)))
			if err != nil {
				return 0, err
			}
			if i >= 2 {
				took[at] = append(took[at], time.Since(began))
			}
			switch {
			case k == 0:
				first = bytes.Clone(body)
			case !bytes.Equal(first, body):
				return 0, fmt.Errorf("%s: the answers differ\n%s\n%s", p.query(p.names[at], i%50), around(first, body), around(body, first))
			}
			size = len(body)
		}
	}
	if size < 200 {
		return 0, errors.New("an empty answer proves nothing")
	}
	return size, nil
}
