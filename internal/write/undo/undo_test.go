package undo_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
	"github.com/alds-dev/alds/internal/write/undo"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// world is a new database with the engines that write it.
type world struct {
	t     testing.TB
	d     *db.DB
	model *meta.Model
	bulk  *bulk.Engine
	undo  *undo.Engine

	assets *asset.Engine
}

func each(t *testing.T, test func(w *world)) {
	testdb.Each(t, func(t *testing.T, d *db.DB) { test(newWorld(t, d)) })
}

func newWorld(t testing.TB, d *db.DB) *world {
	t.Helper()
	w := &world{t: t, d: d, model: meta.Default()}
	if err := seed.Run(t.Context(), d, w.model); err != nil {
		t.Fatal(err)
	}
	w.assets = asset.New(d, w.model, nil, nil)
	w.bulk, w.undo = bulk.New(w.assets, find.New(d, w.model)), undo.New(w.assets)
	return w
}

// written is the part of an answer of the bulk engine that the tests read.
type written struct {
	RequestID     string
	AssetsCreated struct{ OIDTokens []string }
	Failed        struct {
		Commands []json.RawMessage
	} `json:"commandFailures"`
}

// write runs commands as one request.
func (w *world) write(commands ...string) (a written) {
	w.t.Helper()
	b, err := w.bulk.Run(w.t.Context(), auth.System, bulk.Request{Body: []byte("[" + strings.Join(commands, ",") + "]")})
	if err != nil {
		w.t.Fatalf("%v: %s", err, commands)
	}
	w.read(b, &a)
	return a
}

// must is write for commands that all succeed.
func (w *world) must(commands ...string) written {
	w.t.Helper()
	a := w.write(commands...)
	if len(a.Failed.Commands) > 0 {
		w.t.Fatalf("failed: %s", a.Failed.Commands)
	}
	return a
}

func (w *world) read(b []byte, into any) {
	w.t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		w.t.Fatalf("%v: %s", err, b)
	}
}

// answer is the answer of an undo.
type answer struct {
	Undone         bool
	RequestID      string
	Requests       struct{ IDs []string }
	AssetsModified struct {
		OIDTokens []string
		Count     int
	}
	Conflicts struct {
		List          []conflict
		Count, Hidden int
	}
	Failures struct {
		List  []json.RawMessage
		Count int
	}
	NotUndone []struct{ Asset, What string }
	Changes   []json.RawMessage
}

type conflict struct{ Asset, Attribute, ChangedBy, ChangeDate string }

// take takes back what a body selects.
func (w *world) take(who auth.Actor, body string) (a answer, err error) {
	w.t.Helper()
	b, err := w.undo.Run(w.t.Context(), who, undo.Request{Body: []byte(body)})
	if err == nil {
		w.read(b, &a)
		if a.Undone == undo.IsRefused(b) {
			w.t.Fatalf("undone is %v: %s", a.Undone, b)
		}
	}
	return a, err
}

// back takes back whole requests, without conflicts.
func (w *world) back(ids ...string) answer {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"requestId": ids})
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := w.take(auth.System, string(body))
	if err != nil || !a.Undone {
		w.t.Fatalf("not undone: %v, %+v", err, a)
	}
	return a
}

// state is everything that is stored about the assets up to an id, without what every change sets.
// Deleted assets above the id are left out.
func (w *world) state(upTo int64) (lines []string) {
	w.t.Helper()
	columns := []string{"id", "type", "state"}
	for _, c := range w.model.Columns {
		columns = append(columns, c.Name)
	}
	columns = append(columns, "attrs")
	lines = append(lines, w.rows("asset", columns, `SELECT `+strings.Join(columns, ", ")+` FROM asset WHERE id <= ? OR state < 255 ORDER BY id`, upTo)...)
	scope, _ := w.model.Type("Scope")
	members, _ := scope.Attr("Members")
	role, _ := w.model.Type("Member")
	defaultRole, _ := role.Attr("DefaultRole")
	columns = []string{"relation", "from_id", "to_id"}
	lines = append(lines, w.rows("link", columns, `SELECT relation, from_id, to_id FROM asset_link WHERE until_moment = ? AND relation NOT IN (?, ?)`+
		` AND NOT EXISTS (SELECT 1 FROM asset a WHERE a.id IN (from_id, to_id) AND a.id > ? AND a.state = 255) ORDER BY relation, from_id, to_id`,
		db.Forever, members.Place.Code, defaultRole.Place.Code, upTo)...)
	columns = []string{"attribute", "from_id", "value"}
	lines = append(lines, w.rows("value", columns, `SELECT attribute, from_id, value FROM asset_value WHERE until_moment = ?`+
		` AND NOT EXISTS (SELECT 1 FROM asset a WHERE a.id = from_id AND a.id > ? AND a.state = 255) ORDER BY attribute, from_id, value`, db.Forever, upTo)...)
	slices.Sort(lines)
	return lines
}

func (w *world) rows(table string, columns []string, query string, args ...any) (lines []string) {
	w.t.Helper()
	err := db.Each(w.t.Context(), w.d, query, args, func(scan db.Scanner) error {
		cells, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := scan.Scan(into...); err != nil {
			return err
		}
		line := table
		for i, c := range cells {
			if b, ok := c.([]byte); ok {
				c = string(b)
			}
			if columns[i] == "attrs" {
				c = sorted(c)
			}
			if c != nil && c != "" {
				line += fmt.Sprintf(" %s=%v", columns[i], c)
			}
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// sorted returns the text of a JSON object with sorted keys.
func sorted(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return v
	}
	if len(object) == 0 {
		return nil
	}
	b, _ := json.Marshal(object)
	return string(b)
}

func (w *world) lastID() int64 {
	w.t.Helper()
	ids, err := db.Column[int64](w.t.Context(), w.d, `SELECT MAX(id) FROM asset`)
	if err != nil {
		w.t.Fatal(err)
	}
	return ids[0]
}

// generator returns random commands about all types of the model.
type generator struct {
	*rand.Rand
	model  *meta.Model
	types  []*meta.Type
	assets map[*meta.Type][]string // tokens by concrete type
	narrow int                     // number of attributes of each type, and of assets, that updates use; 0: all
	n      int
}

func newGenerator(m *meta.Model, seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), model: m, assets: map[*meta.Type][]string{}}
	for _, t := range m.Types {
		if !t.Abstract && !t.Metadata && t.Name != "Role" && t.Name != "State" {
			g.types = append(g.types, t)
		}
		for _, in := range m.Instances {
			if in.Type == t {
				g.add(fmt.Sprintf("%s:%d", t.Name, in.ID))
			}
		}
	}
	return g
}

func (g *generator) add(token string) {
	name, _, _ := strings.Cut(token, ":")
	if t, ok := g.model.Type(name); ok {
		g.assets[t] = append(g.assets[t], token)
	}
}

func (g *generator) remove(token string) {
	name, _, _ := strings.Cut(token, ":")
	if t, ok := g.model.Type(name); ok {
		g.assets[t] = slices.DeleteFunc(g.assets[t], func(other string) bool { return other == token })
	}
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// target returns an asset of a type, or an empty text if there is none.
func (g *generator) target(t *meta.Type) string {
	var all []string
	for _, c := range t.Concrete {
		all = append(all, g.assets[c]...)
	}
	if len(all) == 0 {
		return ""
	}
	if g.narrow > 0 {
		return pick(g, all[max(0, len(all)-g.narrow):])
	}
	return pick(g, all[max(0, len(all)-12):])
}

// value returns a random value of an attribute, or nil.
func (g *generator) value(a *meta.Attr) any {
	g.n++
	switch a.Kind {
	case meta.Boolean:
		return g.IntN(2) == 0
	case meta.Numeric:
		return g.IntN(5)
	case meta.Date:
		return fmt.Sprintf("2026-0%d-1%d", 1+g.IntN(9), g.IntN(9))
	case meta.Duration:
		return fmt.Sprintf("%d Days", 1+g.IntN(5))
	case meta.Text:
		return pick(g, []string{"", "Straße", "a", "b"}) + fmt.Sprint(g.n)
	case meta.LongText:
		return strings.Repeat(pick(g, []string{"ä", "x", "y"}), g.IntN(300))
	case meta.Relation:
		if t := g.target(a.Related); t != "" {
			return t
		}
	case meta.Rank:
		if t := g.target(a.On); t != "" {
			return map[string]string{pick(g, []string{"Before", "After"}): t}
		}
	}
	return nil
}

// attribute returns a random value for a change of an attribute, or nil.
func (g *generator) attribute(a *meta.Attr) any {
	v := g.value(a)
	switch {
	case v == nil || !a.Multi:
		if g.IntN(4) == 0 && !a.Required {
			return json.RawMessage("null")
		}
		return v
	case g.IntN(3) == 0:
		return map[string]any{"remove": []any{v}}
	}
	return map[string]any{"add": []any{v}}
}

func (g *generator) command() string {
	t := pick(g, g.types)
	for len(g.assets[t]) == 0 && g.IntN(4) > 0 {
		t = pick(g, g.types)
	}
	switch token := g.target(t); {
	case token == "" || g.IntN(3) == 0:
		return g.create(t)
	case g.IntN(3) == 0 && len(t.Ops) > 0:
		return g.json(map[string]any{"from": token, "execute": pick(g, t.Ops).Name})
	default:
		set := map[string]any{}
		for range 1 + g.IntN(3) {
			a := pick(g, g.attributes(t))
			if v := g.attribute(a); v != nil && (!a.ReadOnly || a.Multi) && a.Name != "Password" {
				set[a.Name] = v
			}
		}
		return g.json(map[string]any{"from": token, "update": set})
	}
}

// attributes returns the attributes that updates use.
func (g *generator) attributes(t *meta.Type) []*meta.Attr {
	var all []*meta.Attr
	for _, a := range t.Attrs {
		if !a.ReadOnly && a.Place.Kind <= meta.Reverse {
			all = append(all, a)
		}
	}
	for g.narrow > 0 && len(all) > 2*g.narrow { // every second attribute, then every second of these
		var fewer []*meta.Attr
		for i := g.narrow % 2; i < len(all); i += 2 {
			fewer = append(fewer, all[i])
		}
		all = fewer
	}
	return all
}

func (g *generator) create(t *meta.Type) string {
	set := map[string]any{"AssetType": t.Name}
	for _, a := range t.Attrs {
		if a.ReadOnly || a.Multi || !a.Required && g.IntN(6) > 0 || a.Kind == meta.Rank {
			continue
		}
		if v := g.value(a); v != nil {
			set[a.Name] = v
		}
	}
	return g.json(set)
}

func (g *generator) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestEverythingComesBack takes back random writes, and takes back the undo. The assets are then
// stored exactly as before, and exactly as after the writes.
func TestEverythingComesBack(t *testing.T) {
	each(t, func(w *world) {
		runs, rounds := uint64(3), 40
		if testing.Short() {
			runs, rounds = 1, 10
		}
		for seed := range runs {
			g := newGenerator(w.model, seed)
			for range rounds {
				w.random(g)
			}
		}
	})
}

// random runs one to three random writes and takes them back together.
func (w *world) random(g *generator) {
	w.t.Helper()
	last, before := w.lastID(), w.state(w.lastID())
	var ids, sent, made []string
	for range 1 + g.IntN(3) {
		var commands []string
		for range 1 + g.IntN(8) {
			commands = append(commands, g.command())
		}
		a := w.write(commands...)
		ids, sent, made = append(ids, a.RequestID), append(sent, commands...), append(made, a.AssetsCreated.OIDTokens...)
	}
	top := w.lastID()
	after := w.state(top)
	body, _ := json.Marshal(map[string]any{"requestId": ids})
	a, err := w.take(auth.System, string(body))
	if err != nil || !a.Undone {
		w.t.Fatalf("%v %+v %s\n%s", err, a, a.Failures.List, strings.Join(sent, "\n"))
	}
	if diff := cmp.Diff(before, w.state(last)); diff != "" {
		w.t.Fatalf("after the undo (-want +got):\n%s\n%s", diff, strings.Join(sent, "\n"))
	}
	a, err = w.take(auth.System, `{"requestId":"`+a.RequestID+`"}`)
	if err != nil || !a.Undone {
		w.t.Fatalf("redo: %v %+v %s\n%s", err, a, a.Failures.List, strings.Join(sent, "\n"))
	}
	if diff := cmp.Diff(after, w.state(top)); diff != "" {
		w.t.Fatalf("after the redo (-want +got):\n%s\n%s", diff, strings.Join(sent, "\n"))
	}
	for _, token := range made {
		g.add(token)
	}
}
