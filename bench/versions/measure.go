package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// tables are the tables to whose size a version contributes.
var tables = []string{"asset_version", "asset_text", "asset", "asset_link", "moment_stamp", "audit"}

// settle is the time for the server to write its data to disk before file sizes are read.
const settle = 20 * time.Second

// sizes prints the bytes of each table per version.
func (s *side) sizes(ctx context.Context, out io.Writer) error {
	time.Sleep(settle)
	var versions int64
	if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM asset_version").Scan(&versions); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s: %d versions\n\n| table | rows | bytes for each version | of them keys | on the disk |\n|---|---|---|---|---|\n", s.name, versions)
	for _, table := range tables {
		var n int64
		err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+table+"'").Scan(&n)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if _, err := s.db.Exec(ctx, "ANALYZE TABLE "+table); err != nil {
			return err
		}
		var rows, data, keys int64
		if err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM "+table).Scan(&rows); err != nil {
			return err
		}
		err = s.db.QueryRow(ctx, "SELECT data_length, index_length FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '"+table+"'").Scan(&data, &keys)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %d | %.1f | %.1f | %.1f |\n", table, rows, float64(data+keys)/float64(versions), float64(keys)/float64(versions),
			float64(s.onDisk(ctx, table))/float64(versions))
	}
	return nil
}

// onDisk returns the disk space of a table's file, or 0 if the server does not report it.
func (s *side) onDisk(ctx context.Context, table string) (bytes int64) {
	for _, spaces := range []string{"innodb_sys_tablespaces", "innodb_tablespaces"} { // of MariaDB, of MySQL
		err := s.db.QueryRow(ctx, "SELECT allocated_size FROM information_schema."+spaces+" WHERE name = CONCAT(DATABASE(), '/"+table+"')").Scan(&bytes)
		if err == nil {
			break
		}
	}
	return bytes
}

// work is one row of the table, which the sides do in turn.
type work struct {
	name string
	ask  func(s *side, r *rand.Rand) error
}

func works(texts []rig.Text) []work {
	page := func(asof bool, columns ...string) func(*side, *rand.Rand) error {
		return func(s *side, r *rand.Rand) error {
			q := map[string]any{
				"from": "Story", "where": map[string]any{"Scope": s.scopes[r.IntN(projects)]}, "sort": []string{"Order"},
				"select": append([]string{"Name", "Number", "Estimate", "Status.Name"}, columns...),
				"page":   map[string]any{"size": 50, "start": r.IntN(500)},
			}
			if asof {
				q["asof"] = s.instants[r.IntN(len(s.instants)-1)].UTC().Format("2006-01-02T15:04:05.000Z")
			}
			var answer json.RawMessage
			return s.Post("/query.v1", q, &answer)
		}
	}
	return []work{
		{"page as of an instant", page(true)},
		{"page as of an instant, with Description", page(true, "Description")},
		{"page, with Description", page(false, "Description")},
		{"history of a story, with Description", func(s *side, r *rand.Rand) error {
			var answer json.RawMessage
			return s.Post("/query.v1", map[string]any{
				"from": s.stories[r.IntN(len(s.stories))], "asof": "All", "select": []string{"Name", "Estimate", "Description", "ChangeDate"},
			}, &answer)
		}},
		{"create", func(s *side, r *rand.Rand) error { _, err := s.Bulk([]any{s.story(r, texts)}); return err }},
		{"create of 500", func(s *side, r *rand.Rand) error { _, err := s.more(r, texts); return err }},
		{"change of one attribute or two", func(s *side, r *rand.Rand) error { _, err := s.Bulk(s.changes(r, 1)); return err }},
		{"changes of 500", func(s *side, r *rand.Rand) error { _, err := s.Bulk(s.changes(r, atOnce)); return err }},
		{"change of a description", func(s *side, r *rand.Rand) error {
			_, err := s.Bulk([]any{map[string]any{"from": s.stories[r.IntN(len(s.stories))], "update": map[string]any{"Description": texts[r.IntN(len(texts))].Description + "."}}})
			return err
		}},
	}
}

// times lets the sides do each work in turn. It prints the median times, the median ratio of
// the two sides in the same turn, and the ratio of processor time.
func times(ctx context.Context, o options, sides []*side, texts []rig.Text, out io.Writer) error {
	fmt.Fprint(out, "\n| work | goes | now ms | before ms | ratio | ratio of processor time |\n|---|---|---|---|---|---|\n")
	for _, w := range works(texts) {
		var took [2][]float64 // ms
		var used [2]time.Duration
		goes := o.goes
		if strings.HasSuffix(w.name, " of 500") {
			goes = max(10, o.goes/5)
		}
		for n := range goes {
			for k := range sides {
				if err := ctx.Err(); err != nil {
					return err
				}
				i := (k + n) % len(sides) // the side that comes first alternates
				s := sides[i]
				r := rand.New(rand.NewPCG(uint64(n), uint64(len(w.name)))) //nolint:gosec // both sides do the same
				began, before := time.Now(), s.CPU()+s.DatabaseCPU(ctx)
				if err := w.ask(s, r); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
				}
				took[i] = append(took[i], float64(time.Since(began).Microseconds())/1000)
				used[i] += s.CPU() + s.DatabaseCPU(ctx) - before
			}
		}
		if len(sides) < len(took) {
			fmt.Fprintf(out, "| %s | %d | %.2f | | | |\n", w.name, goes, median(took[0]))
			continue
		}
		ratios := make([]float64, goes)
		for n := range ratios {
			ratios[n] = took[0][n] / took[1][n]
		}
		fmt.Fprintf(out, "| %s | %d | %.2f | %.2f | %.2f | %.2f |\n", w.name, goes, median(took[0]), median(took[1]), median(ratios), float64(used[0])/float64(max(used[1], 1)))
	}
	return nil
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
