package difftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// edge is a group of attributes of stories. They always have the same values but are stored in different
// places: in an ordinary column, in a column for custom attributes, or in the JSON column.
type edge struct {
	names  []string
	values []any
	tests  []string // operators of the queries
	gather []string // aggregates of the queries
}

func (e *edge) isText() bool { return e.names[0] == "Custom_Motto" }

var longest = strings.Repeat("x", 3998)

var edges = []edge{
	{
		names: []string{"Estimate", "Custom_Cost", "Custom_Weight"},
		values: []any{
			0, 0.1, 0.30000000000000004, 1e15, 9007199254740991.0, 9007199254740993.0, -9007199254740992.0, 1e-7, -1e-7, 5e-324,
			1e100, -1e100, 1e22, 123456789.125, 2, 10, nil,
		},
		tests: []string{"=", "!=", "<", "<=", ">", ">="}, gather: []string{"@Min", "@Max", "@Count", "@DistinctCount"},
	},
	{
		names: []string{"Custom_Met", "Custom_Seen"},
		values: []any{
			"0001-01-01", "1582-10-14T23:59:59.999999", "1969-12-31T23:59:59.999999", "1970-01-01", "1970-01-01T00:00:00.000001", "2026-02-28T12:00:00",
			"2038-01-19T03:14:08", "9999-12-31", "9999-12-31T23:59:59.999999", nil,
		},
		tests: []string{"=", "!=", "<", "<=", ">", ">="}, gather: []string{"@MinDate", "@MaxDate", "@Count", "@DistinctCount"},
	},
	{
		names: []string{"Custom_Motto", "Custom_Plain"},
		values: []any{
			longest + "aa", longest + "AB", longest + "ac", longest, strings.Repeat("😀", 4000), strings.Repeat("ß", 4000), "a", "A ", " a", "Σ", "σς", "Ά", "%", "_a_", "a*",
			"10", "9", "e\u0301", "\u0000", "'", `"`, `\`, "", nil,
		},
		tests: []string{"=", "!=", "<", ">=", "~="}, gather: []string{"@Count", "@DistinctCount"},
	},
}

// TestPlacesAgree queries values at the limits of their kinds. No answer may depend on the place in which a
// value is stored, or on the database. The order of long texts is an exception: MariaDB and MySQL compare
// only the beginnings of texts, in whatever place they are stored.
func TestPlacesAgree(t *testing.T) {
	m := grown()
	var first []string
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := serve(t, d, m)
		r := rand.New(rand.NewPCG(3, 1)) // the same seed on both databases
		s.writeEdges(t, r)
		var all []string
		for _, e := range edges {
			for _, q := range e.questions(t) {
				answers := make([]string, len(e.names))
				for i, name := range e.names {
					got, err := s.rows(auth.System, strings.ReplaceAll(q, "@@", name))
					if err != nil {
						t.Fatalf("%.300s: %v", q, err)
					}
					if answers[i] = strings.ReplaceAll(got, name, "@@"); answers[i] != answers[0] {
						t.Errorf("%.200s\n%s %s\n%s %s", q, e.names[0], short(answers[0]), name, short(answers[i]))
					}
				}
				if !e.isText() || !strings.Contains(q, `"sort"`) {
					all = append(all, q+"\n"+answers[0])
				}
			}
		}
		if first == nil {
			first = all
			return
		}
		for i := range all {
			if at := same(all[i], first[i]); at != len(all[i]) || at != len(first[i]) {
				t.Errorf("from byte %d on the databases differ:\n%s\n%s", at, short(first[i][max(0, at-100):]), short(all[i][max(0, at-100):]))
			}
		}
	})
}

func short(s string) string { return s[:min(len(s), 400)] }

// writeEdges creates two stories with each value, and then changes the values of some stories.
func (s *server) writeEdges(t *testing.T, r *rand.Rand) {
	t.Helper()
	var commands []map[string]any
	for _, e := range edges {
		for i := range 2 * len(e.values) {
			alias := fmt.Sprint("@s", len(commands))
			c, later := map[string]any{"AssetType": "Story", "Name": "n", "Scope": "Scope:0"}, map[string]any{}
			for _, name := range e.names {
				c[name] = e.values[i%len(e.values)]
			}
			if r.IntN(3) == 0 {
				v := e.values[r.IntN(len(e.values))]
				for _, name := range e.names {
					later[name] = v
				}
			}
			commands = append(commands, map[string]any{alias: c}, map[string]any{"from": alias, "update": later})
		}
	}
	b, err := json.Marshal(commands)
	must(err)
	if _, failure := create(t, s, string(b)); failure != "" {
		t.Fatal(failure)
	}
}

// questions returns the queries. In them, @@ stands for the name of the attribute.
func (e *edge) questions(t *testing.T) []string {
	t.Helper()
	var all []string
	ask := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, test := range e.tests {
		for _, v := range e.values {
			if v == nil || v == "" {
				continue
			}
			b, err := json.Marshal(map[string]any{"from": "Story", "filter": []string{"@@" + test + "$x"}, "with": map[string]any{"$x": []any{v}}, "select": []string{"@@"}})
			must(err)
			all = append(all, string(b))
		}
		if test == "=" || test == "!=" {
			ask(`{"from":"Story","filter":["@@%s''"]}`, test)
		}
	}
	ask(`{"from":"Story","filter":["@@"]}`)
	ask(`{"from":"Story","filter":["-@@"]}`)
	ask(`{"from":"Story","select":["@@"],"sort":["@@"]}`)
	ask(`{"from":"Story","select":["@@"],"sort":["-@@"],"page":{"start":7,"size":20}}`)
	ask(`{"from":"Story","select":["@@"],"sort":["@@"],"asof":"All"}`)
	ask(`{"from":"Story","select":["@@"],"sort":["@@"],"group":[{"from":"Scope","select":["Workitems:Story.@@"]}]}`)
	for _, g := range e.gather {
		ask(`{"from":"Scope:0","select":["Workitems:Story.@@.%s","Workitems:Story[@@].@@.%s"]}`, g, g)
	}
	if e.isText() {
		for _, text := range []string{"aa", "😀", "SS", "σ", "é", "0"} {
			ask(`{"from":"Story","find":%q,"findin":["@@"],"select":["@@"]}`, text)
		}
	}
	return all
}
