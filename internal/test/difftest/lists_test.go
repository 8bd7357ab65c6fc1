package difftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query/token"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// TestLongLists sends queries with lists of values that are as long as allowed, of every kind, and with
// several lists in one query. A list must find the same rows as its pieces find together. With -short, each
// attribute is compared with only one operator.
func TestLongLists(t *testing.T) {
	seed := testseed.New(t)
	m := grown()
	for _, s := range []*server{serve(t, testdb.MySQL(t), m), serve(t, testdb.SQLite(t), m)} {
		t.Run(s.name, func(t *testing.T) {
			testseed.Print(t, seed)
			r := rand.New(rand.NewPCG(seed, 3))
			l := lists{t: t, r: r, s: s}
			l.fill()
			for _, attr := range []string{"Name", "Description", "Reference", "Estimate", "OriginalEstimate", "ID", "Super", "Order", "CreateDate", "AssetState", "TaggedWith", "Ideas", "Super.Name", "Custom_Cost", "Custom_Due", "Custom_Motto"} {
				ops := []string{"=", "!=", "<", ">=", "~="}
				if testing.Short() {
					i := r.IntN(len(ops))
					ops = ops[i : i+1]
				}
				for _, op := range ops {
					l.ask(attr, op)
				}
			}
			l.together()
		})
	}
}

// lists is a database with stories that have random values.
type lists struct {
	t     *testing.T
	r     *rand.Rand
	s     *server
	epics []string
}

func (l *lists) fill() {
	g := grower{Rand: l.r}
	var commands []map[string]any
	for i := range 20 {
		commands = append(commands, map[string]any{"@" + fmt.Sprint("e", i): map[string]any{"AssetType": "Epic", "Name": fmt.Sprint("epic ", i), "Scope": "Scope:0"}})
		l.epics = append(l.epics, fmt.Sprint("@e", i))
	}
	for range 60 {
		c := map[string]any{
			"AssetType": "Story", "Name": g.text(), "Scope": "Scope:0", "Reference": g.text() + strings.Repeat("x", l.r.IntN(2)*500),
			"Description": g.text() + []string{"", "\t", "\u2028"}[l.r.IntN(3)], "TaggedWith": []string{g.text(), g.text()}, "Ideas": []int{l.r.IntN(100)},
			"Custom_Cost": l.r.NormFloat64() * 1e6, "Custom_Due": days[l.r.IntN(len(days))], "Custom_Motto": g.text() + strings.Repeat("y", l.r.IntN(2)*500),
		}
		if l.r.IntN(4) > 0 {
			c["Super"], c["Estimate"], c["OriginalEstimate"] = l.epics[l.r.IntN(20)], l.r.NormFloat64()*1e6, l.r.ExpFloat64()*1e-7
		}
		commands = append(commands, c)
	}
	b, err := json.Marshal(commands)
	must(err)
	create(l.t, l.s, string(b))
}

// values returns at least n values for a comparison with an attribute, in the form that they have in a row.
// They include about half of the values that stories have in the attribute.
func (l *lists) values(attr string, n int) []string {
	body := fmt.Sprintf(`{"from":"Workitem","select":[%q]}`, attr)
	text, err := l.s.rows(auth.System, body)
	must(err)
	var list []map[string]any
	must(json.Unmarshal([]byte(text), &list))
	var some []string
	for _, row := range list {
		for _, v := range flat(row[attr]) {
			if l.r.IntN(2) == 0 && v != "" && v != "NULL" {
				some = append(some, v)
			}
		}
	}
	if len(some) == 0 {
		l.t.Fatalf("nothing has %s", attr)
	}
	for len(some) < n {
		some = append(some, l.other(attr, some[l.r.IntN(len(some))]))
	}
	l.r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

func flat(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, flat(x)...)
		}
		return all
	case map[string]any:
		return []string{v["_oid"].(string)}
	}
	return []string{fmt.Sprint(v)}
}

// other returns a value for a comparison with an attribute that few or no stories have.
func (l *lists) other(attr, like string) string {
	switch attr {
	case "ID":
		return fmt.Sprint([]string{"Story:", "Epic:", "Defect:"}[l.r.IntN(3)], 1001+l.r.IntN(20_000))
	case "Super":
		return fmt.Sprint([]string{"Epic:", "Story:"}[l.r.IntN(2)], 1001+l.r.IntN(20_000))
	case "Estimate", "OriginalEstimate", "Custom_Cost":
		return fmt.Sprint(-1 - l.r.Float64()*1e3)
	case "Order", "Ideas":
		return fmt.Sprint(1_000_000 + l.r.IntN(1_000_000))
	case "Custom_Due":
		return time.Unix(l.r.Int64N(1e9), 0).UTC().Format(time.DateOnly)
	case "CreateDate":
		return time.Unix(l.r.Int64N(1e9), 0).UTC().Format(time.RFC3339)
	case "AssetState":
		return []string{"0", "1", "Closed", "200"}[l.r.IntN(4)]
	}
	return fmt.Sprint("other ", l.r.IntN(1_000_000), strings.Repeat("é", max(0, l.r.IntN(4000)-3550)))
}

// ask compares an attribute with a long list, and with the pieces of the same list. Both must find the same
// stories.
func (l *lists) ask(attr, op string) {
	l.t.Helper()
	n := token.MaxValues
	if op != "=" {
		n = 1200
	}
	values := l.values(attr, n)
	whole, err := l.find(attr+op+"$x", values)
	if err != nil {
		if op == "=" || op == "!=" {
			l.t.Errorf("%s%s: %v", attr, op, err)
		}
		return // this kind of attribute does not have the operator
	}
	var pieces []string
	for part := range slices.Chunk(values, 400) {
		found, err := l.find(attr+op+"$x", part)
		must(err)
		pieces = append(pieces, found...)
	}
	count := map[string]int{}
	for _, o := range pieces {
		count[o]++
	}
	var want []string
	for o, n := range count {
		if op != "!=" || n == (len(values)+399)/400 { // != must be true for every piece
			want = append(want, o)
		}
	}
	slices.Sort(want)
	if !slices.Equal(whole, want) {
		l.t.Errorf("%s%s with %d values finds %v, want %v", attr, op, len(values), whole, want)
	}
	if op == "=" && len(want) == 0 {
		l.t.Errorf("%s%s finds nothing", attr, op)
	}
}

func (l *lists) find(filter string, values []string) ([]string, error) {
	b, err := json.Marshal(map[string]any{"from": "Workitem", "filter": []string{filter}, "with": map[string]any{"$x": values}})
	must(err)
	text, err := l.s.rows(auth.System, string(b))
	if err != nil {
		return nil, err
	}
	var rows []map[string]string
	must(json.Unmarshal([]byte(text), &rows))
	var all []string
	for _, r := range rows {
		all = append(all, r["_oid"])
	}
	slices.Sort(all)
	return all, nil
}

// together sends queries with several long lists: on all attributes, inside brackets, and as literals
// instead of variables.
func (l *lists) together() {
	l.t.Helper()
	var filters []string
	with := map[string]any{}
	for i, attr := range []string{"Name", "Reference", "Estimate", "ID", "Order", "TaggedWith", "Super"} {
		name := fmt.Sprint("$v", i)
		with[name] = l.values(attr, token.MaxValues)
		filters = append(filters, attr+"="+name+"|"+attr+"!="+name)
	}
	var quotes []string
	for _, v := range l.values("ID", token.MaxValues) {
		quotes = append(quotes, "'"+v+"'")
	}
	filters = append(filters, "Scope.Workitems[ID="+strings.Join(quotes, ",")+"].@Count>'0'")
	b, err := json.Marshal(map[string]any{"from": "Workitem", "filter": filters, "with": with})
	must(err)
	text, err := l.s.rows(auth.System, string(b))
	if err != nil || strings.Count(text, "_oid") != 80 {
		l.t.Errorf("all together: %v, %d rows", err, strings.Count(text, "_oid"))
	}
	b, err = json.Marshal(map[string]any{"from": "Workitem", "filter": []string{"SuperMeAndUp=$v6"}, "with": with})
	must(err)
	text, err = l.s.rows(auth.System, string(b))
	if err != nil || strings.Count(text, "_oid") == 0 {
		l.t.Errorf("up a hierarchy: %v, %s", err, text)
	}
}
