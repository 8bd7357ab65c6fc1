package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// TestReplay reads the activity stream of every asset that random sequences have created. Beginning with
// the current state, it undoes the items of the stream one after another. After each item, the asset must
// be as its previous version in the tables.
// Spec: interface 2.8, 4.5.
func TestReplay(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			start, from := beginnings(t, dialect), seedOf()
			until := time.Now().Add(inTime())
			var n, histories, items atomic.Int64
			var all sync.WaitGroup
			for range atOnce {
				all.Go(func() {
					for !t.Failed() && (*sequences == 0 && time.Now().Before(until) || n.Load() < int64(*sequences)) {
						seed := from + uint64(n.Add(1)-1)
						t.Run("sequence", func(sub *testing.T) {
							all := generate(seed, start)
							h, i, err := played(sub, dialect, all, start.of(all)).replayAll(sub.Context())
							if err != nil {
								// The error must belong to t, because the flags of repeat are for t, not
								// for sub.
								t.Errorf("%v\n%s", err, repeat(seed))
							}
							histories.Add(h)
							items.Add(i)
						})
					}
				})
			}
			all.Wait()
			t.Logf("%d sequences from seed %d: %d histories of %d changes", n.Load(), from, histories.Load(), items.Load())
			if histories.Load() == 0 {
				t.Error("no history was replayed")
			}
		})
	}
}

// played returns a database after a sequence. The model also executes the sequence, because it has the
// labels that requests refer to. If engine and model differ, the sequence ends there. TestModel reports
// such differences.
func played(t *testing.T, dialect string, all sequence, w *world) *database {
	t.Helper()
	b, e := setUp(t, dialect, all.grown())
	if _, err := b.dump(t.Context()); err != nil { // gives labels to the assets
		t.Fatal(err)
	}
	for _, r := range all {
		who, err := b.actors.ActorOf(t.Context(), b.ids[r.by])
		if err != nil {
			break
		}
		body, want := r.text(b.oid), w.run(r)
		raw, err := e.Run(t.Context(), who, bulk.Request{Body: []byte(body), YAML: r.yaml})
		if want.refused {
			if fault.KindOf(err) != fault.Denied {
				break
			}
			continue
		}
		if err != nil || b.compareAnswer(t.Context(), w, raw, want, r) != "" {
			break
		}
	}
	return b
}

// shown maps each attribute of an asset to its value, in the form of the activity stream. If there are
// several values, they are sorted and joined with the separator between.
type shown map[string]string

// firstMade is the lowest id that an asset created by a request has.
const firstMade = 1001

// replayAll replays the stream of every asset that requests have created. It returns how many assets have
// more than one item, and how many items there are.
func (b *database) replayAll(ctx context.Context) (histories, items int64, err error) {
	s := activity.New(b.d, b.m, find.New(b.d, b.m))
	tables, err := b.readTables(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range slices.Sorted(maps.Keys(tables.versions)) {
		if id < firstMade {
			continue
		}
		t, _ := b.m.TypeByCode(tables.versions[id][0].code)
		token := oid.OID{Type: t.Name, ID: t.Shown(id)}.String()
		list, err := stream(ctx, s, token)
		if err == nil {
			err = tables.replay(t, id, token, list)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", token, err)
		}
		if len(list) > 1 {
			histories++
		}
		items += int64(len(list))
	}
	return histories, items, nil
}

// body is the part of an item of the stream that the replay needs.
type body struct {
	Verb     string
	Object   struct{ ID string }
	Provider struct{ CommitSeq int64 }
	Target   []struct {
		Name, Verb         string
		NewValue, OldValue json.RawMessage
	}
}

// stream reads the whole activity stream of an asset, page by page. It returns the items that are about the
// asset itself.
func stream(ctx context.Context, s *activity.Service, token string) (all []body, err error) {
	r := activity.Request{OID: token, MaxCount: "7", Deleted: "true"}
	for {
		answer, err := s.Stream(ctx, auth.System, r)
		if err != nil {
			return nil, err
		}
		var page []struct{ Body body }
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return nil, err
		}
		for _, item := range page {
			if item.Body.Object.ID == token {
				all = append(all, item.Body)
			}
		}
		if answer.Next == 0 {
			return all, nil
		}
		r.After = strconv.FormatInt(answer.Next, 10)
	}
}

// replay undoes the items, beginning with the current state. Before it undoes the items of a version, it
// compares the state with that version.
func (x *history) replay(t *meta.Type, id int64, token string, items []body) error {
	versions := x.versions[id]
	left := len(versions)
	now := x.state(t, id, &versions[left-1], db.Forever-1)
	for _, item := range items {
		if left > 0 && versions[left-1].moment == item.Provider.CommitSeq {
			left--
			want := x.state(t, id, &versions[left], versions[left].moment)
			if diff := now.differs(want); diff != "" {
				return fmt.Errorf("at moment %d: %s", versions[left].moment, diff)
			}
		}
		for _, c := range item.Target {
			if err := now.undo(c.Name, c.Verb, word(c.NewValue), word(c.OldValue)); err != nil {
				return fmt.Errorf("%s of moment %d: %w", token, item.Provider.CommitSeq, err)
			}
		}
	}
	if left != 0 {
		return fmt.Errorf("%d of %d versions have no item", left, len(versions))
	}
	if diff := now.differs(shown{}); diff != "" {
		return fmt.Errorf("before it was created: %s", diff)
	}
	return nil
}

// word returns a value as text. For a reference that is its Oid.
func word(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var reference struct{ ID string }
	_ = json.Unmarshal(raw, &reference)
	return reference.ID
}

const between = "\x00"

func (s shown) undo(name, verb, now, was string) error {
	list := strings.FieldsFunc(s[name], func(r rune) bool { return r == 0 })
	switch verb {
	case "Set":
		if cmp.Or(s[name], "false") != cmp.Or(now, "false") { // an empty value counts as false, as in differs
			return fmt.Errorf("%s is %q, and was Set to %q", name, s[name], now)
		}
		s[name] = was
		return nil
	case "Added":
		i := slices.Index(list, now)
		if i < 0 {
			return fmt.Errorf("%s is %q, and got %q", name, s[name], now)
		}
		list = slices.Delete(list, i, i+1)
	case "Removed":
		list = append(list, was)
	default:
		return fmt.Errorf("the verb %s", verb)
	}
	slices.Sort(list)
	s[name] = strings.Join(list, between)
	return nil
}

// differs describes the first attribute in which two states differ, or returns "". An empty value counts as
// false.
func (s shown) differs(want shown) string {
	for _, name := range slices.Compact(slices.Sorted(maps.Keys(merged(s, want)))) {
		has, should := s[name], want[name]
		if cmp.Or(has, "false") != cmp.Or(should, "false") {
			return fmt.Sprintf("%s is %q by the stream and %q in the tables", name, has, should)
		}
	}
	return ""
}

func merged(a, b shown) shown {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
