package seed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

var model = meta.Default()

// harness is a database and a write engine, for one test.
type harness struct {
	t *testing.T
	d *db.DB
	e *asset.Engine
}

func newHarness(t *testing.T, d *db.DB) *harness {
	t.Helper()
	return &harness{t: t, d: d, e: asset.New(d, model, nil, nil)}
}

// seed runs Run with a model.
func (w *harness) seed(m *meta.Model) {
	w.t.Helper()
	if err := seed.Run(w.t.Context(), w.d, m); err != nil {
		w.t.Fatal(err)
	}
}

// must runs commands in one request, which must all succeed.
func (w *harness) must(commands ...*asset.Command) {
	w.t.Helper()
	err := w.e.Write(w.t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		outcomes, err := s.Run(w.t.Context(), commands)
		for i, o := range outcomes {
			if o.Err != nil {
				return fmt.Errorf("command %d: %w", i, o.Err)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// create returns a create command. words are names of attributes, each followed by its value.
func create(typ string, words ...string) *asset.Command {
	t, _ := model.Type(typ)
	return &asset.Command{Verb: asset.Create, Type: t, Self: &asset.Handle{}, Changes: changes(words)}
}

func update(token string, words ...string) *asset.Command {
	return &asset.Command{Verb: asset.Update, Target: ref(token), Changes: changes(words)}
}

func operate(token, op string) *asset.Command {
	return &asset.Command{Verb: asset.Operate, Target: ref(token), Op: op}
}

func ref(token string) asset.Ref {
	o, err := oid.Parse(token)
	if err != nil {
		panic(err)
	}
	return asset.Ref{OID: o}
}

func changes(words []string) []asset.Change {
	var all []asset.Change
	for i := 0; i < len(words); i += 2 {
		all = append(all, asset.Change{Name: words[i], Set: []asset.Value{{Kind: asset.Text, Text: words[i+1]}}})
	}
	return all
}

// rows returns the result of a query as text: one line for each row, with a space between values. It
// prints NULL as "-" and db.Forever as "on".
func (w *harness) rows(query string, args ...any) string {
	w.t.Helper()
	rows, err := w.d.Query(w.t.Context(), query, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, _ := rows.Columns()
	values, into := make([]*string, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			w.t.Fatal(err)
		}
		words := make([]string, len(values))
		for i, v := range values {
			switch {
			case v == nil:
				words[i] = "-"
			case *v == fmt.Sprint(db.Forever):
				words[i] = "on"
			default:
				words[i] = *v
			}
		}
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	return b.String()
}

func (w *harness) expect(want, query string, args ...any) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.rows(query, args...)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}
