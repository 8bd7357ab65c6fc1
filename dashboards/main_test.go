package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestWritten checks that the folder boards has the files that are generated from the
// descriptions, and no others.
func TestWritten(t *testing.T) {
	files := map[string]bool{}
	for _, b := range boards {
		files[b.file+".json"] = true
		want, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("boards/" + b.file + ".json")
		if err != nil || string(got) != string(want) {
			t.Errorf("boards/%s.json is stale: go run ./dashboards (%v)", b.file, err)
		}
	}
	written, err := os.ReadDir("boards")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range written {
		if !files[f.Name()] {
			t.Errorf("boards/%s is of no dashboard", f.Name())
		}
	}
}

// TestPanels checks that each panel has a description, links to an existing dashboard, and
// exists once. The overview may repeat a panel of another dashboard.
func TestPanels(t *testing.T) {
	shown := map[string]string{} // by queries
	for _, b := range boards {
		titles, expressions := map[string]bool{}, map[string]bool{}
		for _, r := range b.rows {
			for _, p := range r.panels {
				name := b.title + ": " + r.title + ": " + p.title
				if titles[r.title+p.title] || p.title == "" || !strings.HasSuffix(p.about, ".") || p.unit == "" {
					t.Errorf("%s: it is there twice, or has no title, sentence or unit", name)
				}
				titles[r.title+p.title] = true
				for _, q := range p.queries {
					if expressions[q.expr] || q.legend == "" || strings.HasPrefix(q.legend, "alds_") {
						t.Errorf("%s: %s is there twice, or has no name for readers: %q", name, q.expr, q.legend)
					}
					expressions[q.expr] = true
				}
				if p.more != "" && !slices.ContainsFunc(boards, func(b board) bool { return b.file == p.more }) {
					t.Errorf("%s leads to %s, which is no dashboard", name, p.more)
				}
				if other := shown[p.key()]; other != "" {
					t.Errorf("%s is %s, too", name, other)
				}
				shown[p.key()] = name
			}
		}
	}
}

// key returns the same text for two panels that show the same.
func (p panel) key() string {
	all := map[string]bool{}
	for _, q := range p.queries {
		all[q.expr] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), "\n")
}
