package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// history are the tables that grow with every change by design, because they store the
// history.
var history = []string{"asset", "asset_version", "asset_text", "asset_link", "asset_value", "audit", "moment_stamp"}

// watch samples the resources that an installation uses.
type watch struct {
	b       *bench
	redis   *redis.Client
	tables  []string
	names   []string // names of the measures, in the order of the output
	samples []sample
	changes atomic.Int64 // number of changes so far
	refused atomic.Int64 // requests with status 503
}

// sample has the values of all measures at one time.
type sample struct {
	changes float64
	values  map[string]float64
}

func newWatch(b *bench) (*watch, error) {
	options, err := redis.ParseURL(b.o.redis)
	if err != nil {
		return nil, err
	}
	w := &watch{b: b, redis: redis.NewClient(options)}
	rows, err := b.s.Admin.Query(context.Background(), "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name", b.s.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		w.tables = append(w.tables, name)
	}
	return w, rows.Err()
}

func (w *watch) close() { _ = w.redis.Close() }

// processMetrics are the metrics of each process that are sampled. A value is divided by unit
// before it is printed.
var processMetrics = []struct {
	metric, name string
	unit         float64
}{
	{"process_resident_memory_bytes", "resident MB", 1 << 20},
	{"go_goroutines", "goroutines", 1},
	{"process_open_fds", "open files", 1},
}

// sample reads all measures once and prints a summary.
func (w *watch) sample(ctx context.Context, at time.Duration) error {
	s := sample{changes: float64(w.changes.Load()), values: map[string]float64{}}
	put := func(name string, value float64) {
		if len(w.samples) == 0 {
			w.names = append(w.names, name)
		}
		s.values[name] = value
	}
	for _, process := range []string{"api", "worker", "scheduler"} {
		metrics, err := w.metrics(process)
		if err != nil {
			return err
		}
		for _, m := range processMetrics {
			put(process+" "+m.name, metrics[m.metric]/m.unit)
		}
	}
	keys, err := w.redis.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	put("Redis keys", float64(keys))
	var n float64
	if err := w.b.s.Admin.QueryRow(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = ?", w.b.s.Name).Scan(&n); err != nil {
		return err
	}
	put("database connections", n)
	if err := w.sampleTables(ctx, put); err != nil {
		return err
	}
	w.samples = append(w.samples, s)
	w.b.say("%5.0fs %6.0f changes, api %.0f MB, worker %.0f MB, scheduler %.0f MB, %.0f keys, %.0f deliveries, %.0f receipts", at.Seconds(), s.changes,
		s.values["api resident MB"], s.values["worker resident MB"], s.values["scheduler resident MB"], s.values["Redis keys"],
		s.values["webhook_delivery rows"], s.values["webhook_receipt rows"])
	return nil
}

// sampleTables reads the number of rows and the file size of every table. The server never
// makes a file smaller.
func (w *watch) sampleTables(ctx context.Context, put func(string, float64)) error {
	for _, table := range w.tables {
		var n float64
		if err := w.b.s.Admin.QueryRow(ctx, "SELECT COUNT(*) FROM `"+w.b.s.Name+"`.`"+table+"`").Scan(&n); err != nil {
			return err
		}
		put(table+" rows", n)
	}
	rows, err := w.b.s.Admin.Query(ctx, "SELECT name, file_size / 1048576 FROM information_schema.innodb_sys_tablespaces WHERE name LIKE ? ORDER BY name", w.b.s.Name+"/%")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var size float64
		if err := rows.Scan(&name, &size); err != nil {
			return sqlerror.Fault(err)
		}
		put(strings.TrimPrefix(name, w.b.s.Name+"/")+" MB", size)
	}
	return sqlerror.Fault(rows.Err())
}

// metrics reads all metrics of a process, except those with labels.
func (w *watch) metrics(process string) (map[string]float64, error) {
	res, err := http.Get("http://" + w.b.s.AdminAddr(process) + "/metrics")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				all[name] = n
			}
		}
	}
	return all, lines.Err()
}

// third summarizes one measure in one third of the samples.
type third struct {
	mean      float64 // of the values
	perChange float64 // growth from the first to the last sample, per change
}

func (w *watch) third(n int, name string) third {
	k := len(w.samples) / 3
	part := w.samples[len(w.samples)-(3-n)*k:][:k]
	var t third
	for _, s := range part {
		t.mean += s.values[name] / float64(k)
	}
	first, last := part[0], part[k-1]
	if made := last.changes - first.changes; made > 0 {
		t.perChange = (last.values[name] - first.values[name]) / made
	}
	return t
}

// slack lists how much a measure may grow from the second third to the last. The field part is a
// fraction of the value. The field more is a constant that is added, for small values that vary.
var slack = []struct {
	suffix string
	part   float64
	more   float64
}{
	{"resident MB", .10, 8},
	{"goroutines", .20, 10},
	{"open files", .20, 10},
	{"connections", .20, 5},
	{"keys", .20, 20},
	{" rows", .20, 50},
	{" MB", .20, 8}, // size of a table's file, which grows in steps
}

// growing limits how many more rows per change a history table gets in the last third than in
// the second third. It is a fraction of the value in the second third. File sizes of history tables
// are printed but not judged, because files grow in steps of megabytes.
const growing = .05

// verdict returns the problem of a measure, or "".
func (w *watch) verdict(name string, second, last third) string {
	table, what, _ := strings.Cut(name, " ")
	if slices.Contains(history, table) {
		if what == "rows" && last.perChange > second.perChange*(1+growing)+.01 {
			return "GROWS FASTER"
		}
		return ""
	}
	for _, s := range slack {
		if strings.HasSuffix(name, s.suffix) {
			if last.mean > second.mean*(1+s.part)+s.more {
				return "GROWS"
			}
			return ""
		}
	}
	return "HAS NO MARGIN"
}

// judge prints the table. It returns an error if a measure grew more than allowed.
func (w *watch) judge() error {
	if len(w.samples) < 6 {
		return fmt.Errorf("%d samples are too few", len(w.samples))
	}
	w.b.say("%-34s %12s %12s %12s %14s", "mean of each third", "first", "second", "last", "per change")
	var grown []string
	for _, name := range w.names {
		first, second, last := w.third(0, name), w.third(1, name), w.third(2, name)
		perChange := ""
		if table, _, _ := strings.Cut(name, " "); slices.Contains(history, table) {
			perChange = fmt.Sprintf("%.4f %.4f", second.perChange, last.perChange)
		}
		verdict := w.verdict(name, second, last)
		if verdict != "" {
			grown = append(grown, name)
		}
		w.b.say("%-34s %12.1f %12.1f %12.1f %14s %s", name, first.mean, second.mean, last.mean, perChange, verdict)
	}
	w.b.say("per change: growth in the second and in the last third, of tables that keep history by design")
	if grown != nil {
		return fmt.Errorf("more in the last third than in the second: %s", strings.Join(grown, ", "))
	}
	w.b.say("flat: nothing else grew beyond its margin between the second and the last third")
	return nil
}
