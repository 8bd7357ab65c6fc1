package asset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) {
	testdb.Judged(m,
		"DELETE FROM audit_trail",
		"DELETE FROM sequence WHERE name LIKE ?",
		"UPDATE audit SET imported = ?",
	)
}

var model = meta.Default()

// harness is an engine with a new database, for one test.
type harness struct {
	t testing.TB
	d *db.DB
	e *asset.Engine
}

// logins stores usernames in the credential table, without hashing.
type logins struct{}

// Seal returns an empty hash.
func (logins) Seal(context.Context, string) (string, error) { return "", nil }

// HaveLogin reports whether at least one of the members has a username.
func (logins) HaveLogin(ctx context.Context, tx *db.Tx, members []int64) (bool, error) {
	for _, id := range members {
		n, err := db.Column[int64](ctx, tx, `SELECT COUNT(*) FROM credential WHERE member_id = ?`, id)
		if err != nil || n[0] > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

func (logins) Prove(_ context.Context, _ int64, password string) (bool, error) {
	return password == "old", nil
}

func (logins) Digest(context.Context, string, string) (string, error) {
	return strings.Repeat("d", 64), nil
}

func (logins) Set(ctx context.Context, tx *db.Tx, member int64, username, _ *string) error {
	if username == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, `DELETE FROM credential WHERE member_id = ?`, member); err != nil || *username == "" {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, ?, 1, 0)`, member, *username, folding.Of(*username))
	return err
}

func newHarness(t testing.TB, d *db.DB) *harness {
	t.Helper()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `INSERT INTO credential (member_id, username, folded, version, disabled)`+
		` SELECT id, 'admin', 'admin', 1, 0 FROM asset WHERE id = 20 AND NOT EXISTS (SELECT 1 FROM credential WHERE member_id = 20)`); err != nil {
		t.Fatal(err)
	}
	return &harness{t: t, d: d, e: asset.New(d, model, logins{}, nil)}
}

// each runs a test on every database.
func each(t *testing.T, test func(t *testing.T, w *harness)) {
	testdb.Each(t, func(t *testing.T, d *db.DB) { test(t, newHarness(t, d)) })
}

// run runs commands in one request, which must not fail as a whole.
func (w *harness) run(commands ...*asset.Command) []asset.Outcome {
	w.t.Helper()
	var got []asset.Outcome
	err := w.e.Write(w.t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		for _, c := range commands {
			if c.Self != nil {
				*c.Self = asset.Handle{Alias: c.Self.Alias}
				s.Define(c.Self.Alias, c.Self)
			}
		}
		var err error
		got, err = s.Run(w.t.Context(), commands)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// must runs commands, which must all succeed, and returns the Oids of their assets.
func (w *harness) must(commands ...*asset.Command) []string {
	w.t.Helper()
	var oids []string
	for i, o := range w.run(commands...) {
		if o.Err != nil {
			w.t.Fatalf("command %d: %v", i, o.Err)
		}
		oids = append(oids, o.OID.String())
	}
	return oids
}

// fails runs one command, which must fail, and returns the message of its error.
func (w *harness) fails(c *asset.Command) string {
	w.t.Helper()
	o := w.run(c)[0]
	if o.Err == nil {
		w.t.Fatal("the command did not fail")
	}
	return fault.Public(o.Err)
}

// rows returns the result of a query as text: one line for each row, with a space between values.
// It prints NULL as "-" and db.Forever as "on".
func (w *harness) rows(query string, args ...any) string {
	w.t.Helper()
	rows, err := w.d.Query(w.t.Context(), query, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, _ := rows.Columns()
	var b strings.Builder
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			w.t.Fatal(err)
		}
		for i, v := range values {
			if i > 0 {
				b.WriteByte(' ')
			}
			switch x := v.(type) {
			case nil:
				b.WriteByte('-')
			case []byte:
				b.Write(x)
			case int64:
				if x == db.Forever {
					b.WriteString("on")
					continue
				}
				fmt.Fprint(&b, x)
			default:
				fmt.Fprint(&b, x)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *harness) expect(want, query string, args ...any) {
	w.t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), w.rows(query, args...)); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

// create returns a create command. words are names of attributes, each followed by its value.
func create(typ, alias string, words ...string) *asset.Command {
	t, ok := model.Type(typ)
	if !ok {
		panic(typ)
	}
	return &asset.Command{Verb: asset.Create, Type: t, Self: &asset.Handle{Alias: alias}, Changes: changes(words)}
}

func update(token string, words ...string) *asset.Command {
	return &asset.Command{Verb: asset.Update, Target: ref(token), Changes: changes(words)}
}

func operate(token, op string, args ...string) *asset.Command {
	return &asset.Command{Verb: asset.Operate, Target: ref(token), Op: op, Args: changes(args)}
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
		v := asset.Value{Kind: asset.Text, Text: words[i+1]}
		if words[i+1] == "" {
			v = asset.Value{}
		}
		name, remove := strings.CutPrefix(words[i], "-")
		ch := asset.Change{Name: name, Set: []asset.Value{v}}
		if remove {
			ch = asset.Change{Name: name, Remove: []asset.Value{v}}
		}
		all = append(all, ch)
	}
	return all
}

func id(token string) int64 {
	o, err := oid.Parse(token)
	if err != nil {
		panic(err)
	}
	return o.ID
}
