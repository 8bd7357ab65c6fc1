package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
)

var (
	sequences = flag.Int("modeltest.sequences", 0, "sequences to run on each database; 0: as many as fit into some seconds")
	seedFlag  = flag.Uint64("modeltest.seed", 0, "seed of the first sequence; 0 takes a new one")
)

// inTime returns how long sequences run on each database if the flags do not say how many run.
func inTime() time.Duration {
	if testing.Short() {
		return 2 * time.Second
	}
	return 10 * time.Second
}

// seedOf returns the seed from the flag, or a new seed.
func seedOf() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return uint64(time.Now().UnixNano()) % 1_000_000_000
}

// repeat returns a text with the flags that run a sequence again.
func repeat(seed uint64) string {
	return fmt.Sprintf("repeat with -modeltest.sequences 1 -modeltest.seed %d", seed)
}

func TestMain(m *testing.M) { testdb.Main(m) }

var model = meta.Default()

// usernames replaces the storage of logins, without passwords. It has only the methods of asset.Credentials
// that the engine calls in this test.
type usernames struct{ asset.Credentials }

// Seal returns an empty hash, because the test stores no passwords.
func (usernames) Seal(context.Context, string) (string, error) { return "", nil }

// HaveLogin returns true for all members, because the model does not have passwords.
func (usernames) HaveLogin(context.Context, *db.Tx, []int64) (bool, error) { return true, nil }

func (usernames) Set(ctx context.Context, tx *db.Tx, member int64, name, _ *string) error {
	if name == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, `DELETE FROM credential WHERE member_id = ?`, member); err != nil || *name == "" {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO credential (member_id, username, folded, version, disabled) VALUES (?, ?, ?, 1, 0)`, member, *name, folding.Of(*name))
	return err
}

// sameText reports whether the NFC forms of two texts are equal or differ only in case.
func sameText(a, b string) bool { return strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) }

// caseless returns the same text for all texts that are equal by sameText.
func caseless(s string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			first = min(first, o)
		}
		return first
	}, norm.NFC.String(s))
}

// open maps a dialect to a function that creates an empty database.
var open = map[string]func(testing.TB) *db.DB{"mysql": testdb.MySQL, "sqlite": testdb.SQLite}

// TestModel sends random sequences of requests to the engine and to the model. After each request it
// compares the responses, and the database with the model.
func TestModel(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			start := beginnings(t, dialect)
			seed := seedOf()
			n, failed := search(t, dialect, start, seed)
			if failed == nil {
				t.Logf("%d sequences from seed %d", n, seed)
				return
			}
			small, why := shrink(t, dialect, generate(failed.seed, start), failed.why)
			t.Fatalf("%s\n%s\n%s", why, show(small), repeat(failed.seed))
		})
	}
}

// atOnce is how many sequences run at a time, each on its own database. Most of the time they wait for the
// database.
const atOnce = 4

// finding is the seed of a sequence for which engine and model differ, with the difference.
type finding struct {
	seed uint64
	why  string
}

// search runs sequences until one of them shows a difference, or until the number or the time from the
// flags is reached. It returns how many sequences have run. first is the finding with the lowest seed, or
// nil.
func search(t *testing.T, dialect string, start starts, from uint64) (n int, first *finding) {
	until := time.Now().Add(inTime())
	var mu sync.Mutex
	next := func() (seed uint64, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || n > 0 && *sequences <= n && (*sequences > 0 || time.Now().After(until)) {
			return 0, false
		}
		n++
		return from + uint64(n-1), true
	}
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for seed, more := next(); more; seed, more = next() {
				why := attempt(t, dialect, generate(seed, start))
				mu.Lock()
				if why != "" && (first == nil || seed < first.seed) {
					first = &finding{seed, why}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return n, first
}

// beginnings returns the worlds of new databases: without and with custom attributes.
func beginnings(t *testing.T, dialect string) starts {
	all := starts{}
	for _, grown := range []bool{false, true} {
		t.Run("new", func(t *testing.T) {
			b, _ := setUp(t, dialect, grown)
			all[grown] = b.mustDump(t)
		})
	}
	return all
}

func (b *database) mustDump(t *testing.T) *world {
	t.Helper()
	if _, err := b.dump(t.Context()); err != nil { // gives labels to the assets
		t.Fatal(err)
	}
	w, err := b.dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range w.things {
		x.nr -= 1 << 30
	}
	return w
}

// attempt runs a sequence on a new database. It returns the first difference, or "" if there is none.
func attempt(t *testing.T, dialect string, all sequence) (why string) {
	t.Run("sequence", func(t *testing.T) {
		b, e := setUp(t, dialect, all.grown())
		w := b.mustDump(t)
		for i, r := range all {
			why = b.step(t.Context(), e, w, r)
			if why != "" {
				why = fmt.Sprintf("request %d: %s", i+1, why)
				return
			}
		}
	})
	return why
}

// step executes one request with the engine and the model. It returns the first difference, or "" if there
// is none.
func (b *database) step(ctx context.Context, e *bulk.Engine, w *world, r *request) string {
	body := r.text(b.oid)
	sender := w.things[r.by]
	if sender == nil || sender.state == 255 {
		return "" // shrink has removed the request that created this member
	}
	who, err := b.actors.ActorOf(ctx, b.ids[r.by])
	if err != nil {
		return err.Error()
	}
	if r.preview {
		projection, refused := e.Run(ctx, who, bulk.Request{Body: []byte(body), YAML: r.yaml, Preview: true})
		if refused != nil && !errors.Is(refused, asset.ErrReach) {
			return fmt.Sprintf("the preview fails: %v\n%s", refused, body)
		}
		has, err := b.dump(ctx)
		if err != nil {
			return err.Error()
		}
		if diff := differ(w, has); diff != "" {
			return "the preview changed something:\n" + diff
		}
		if refused == nil {
			body = string(projection)
		}
	}
	want := w.run(r)
	raw, err := e.Run(ctx, who, bulk.Request{Body: []byte(body), YAML: r.yaml})
	switch {
	case want.over || errors.Is(err, asset.ErrReach):
		if !want.over || !errors.Is(err, asset.ErrReach) {
			return fmt.Sprintf("the engine answers %v, the model that a command affects too many: %v\n%s", err, want.over, body)
		}
	case want.refused != (fault.KindOf(err) == fault.Denied) || err != nil && !want.refused:
		return fmt.Sprintf("the engine answers %v, the model refuses the request: %v\n%s", err, want.refused, body)
	case !want.refused:
		if diff := b.compareAnswer(ctx, w, raw, want, r); diff != "" {
			return diff + "\nrequest: " + body
		}
	}
	has, err := b.dump(ctx)
	if err != nil {
		return err.Error()
	}
	if diff := differ(w, has); diff != "" {
		return "the database differs (-model +database):\n" + diff + "\nrequest: " + body
	}
	found, err := check.Run(ctx, b.d, b.m)
	if err != nil {
		return err.Error()
	}
	if len(found) > 0 {
		return fmt.Sprintf("the checker says %s\nrequest: %s", found[0], body)
	}
	return ""
}

// compareAnswer compares the response of the engine with the answer of the model. It also gives labels to
// the created assets.
func (b *database) compareAnswer(ctx context.Context, w *world, raw []byte, want answer, r *request) string {
	var got response
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Sprintf("%v: %s", err, raw)
	}
	if diff := b.compare(want, got, r); diff != "" {
		return diff
	}
	if err := b.adopt(ctx, w); err != nil {
		return err.Error()
	}
	return ""
}

// oid returns the Oid of the asset that a reference in a payload stands for.
func (b *database) oid(r ref) string {
	id, ok := b.ids[r.label]
	if r.typ == rankOf {
		rank := "none" // this is no rank, so the request fails as it does in the model
		if ok {
			_ = b.d.QueryRow(context.Background(), `SELECT order_key FROM asset WHERE id = ?`, id).Scan(&rank)
		}
		return rank
	}
	if !ok {
		return nobody(r)
	}
	return b.token(b.typ(typeOf(r.label)), id)
}

func typeOf(label string) string { return label[:strings.IndexAny(label, "#:")] }
