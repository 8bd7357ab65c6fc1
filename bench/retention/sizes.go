package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// sizes has the size of all tables at one stage of the run.
type sizes struct {
	stage  string
	tables map[string]size
}

type size struct{ rows, bytes int64 }

// of returns the total bytes of some tables.
func (s sizes) of(tables ...string) (bytes int64) {
	for _, t := range tables {
		bytes += s.tables[t].bytes
	}
	return bytes
}

// size records the sizes of all tables, including indexes. Free pages do not count.
func (b *bench) size(ctx context.Context, stage string) error {
	s := sizes{stage, map[string]size{}}
	names, err := db.Column[string](ctx, b.db, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", b.site.Name)
	if err != nil {
		return err
	}
	for _, name := range names {
		rows, err := b.site.Admin.Query(ctx, "ANALYZE TABLE "+b.site.Name+"."+name)
		if err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		var n size
		err = b.db.QueryRow(ctx, "SELECT data_length + index_length - 0, (SELECT COUNT(*) FROM "+name+
			") FROM information_schema.tables WHERE table_schema = ? AND table_name = ?", b.site.Name, name).Scan(&n.bytes, &n.rows)
		if err != nil {
			return err
		}
		s.tables[name] = n
	}
	b.sizes = append(b.sizes, s)
	return nil
}

// tell prints the sizes of the tables that have grown, and the bytes per asset, change and
// event.
func (b *bench) tell() {
	head := fmt.Sprintf("%-18s", "rows and MB")
	for _, s := range b.sizes {
		head += fmt.Sprintf(" %18s", s.stage)
	}
	b.say("%s", head)
	stages := map[string]sizes{}
	for _, s := range b.sizes {
		stages[s.stage] = s
	}
	for _, name := range slices.Sorted(maps.Keys(b.sizes[0].tables)) {
		if stages["changed"].tables[name].rows < stages["empty"].tables[name].rows+100 {
			continue
		}
		line := fmt.Sprintf("%-18s", name)
		for _, s := range b.sizes {
			line += fmt.Sprintf(" %10d %7.1f", s.tables[name].rows, float64(s.tables[name].bytes)/1e6)
		}
		b.say("%s", line)
	}
	changes := int64(b.assets * b.changes)
	each := func(what string, n int64, from, to string, tables ...string) {
		line, all := "", int64(0)
		for _, t := range tables {
			bytes := (stages[to].of(t) - stages[from].of(t)) / n
			all += bytes
			line += fmt.Sprintf(" %s %d", t, bytes)
		}
		b.say("bytes for each %s: %d =%s", what, all, line)
	}
	history := []string{"asset_version", "asset_text", "asset_link", "audit", "moment_stamp"}
	each("asset", int64(b.assets), "empty", "created", append([]string{"asset"}, history...)...)
	each("change", changes, "created", "changed", append([]string{"asset"}, history...)...)
	if b.events > 0 {
		each("delivered event", int64(b.events), "created", "changed", "webhook_delivery", "webhook_payload", "webhook_receipt")
	}
}
