package tags_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/seed"
	"github.com/alds-dev/alds/internal/write/tags"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// world is a database with tagged stories in two projects.
type world struct {
	t *testing.T
	e *asset.Engine
	*tags.Service
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	e := asset.New(d, model, nil, nil)
	text := func(all ...string) (values []asset.Value) {
		for _, s := range all {
			values = append(values, asset.Value{Kind: asset.Text, Text: s})
		}
		return values
	}
	create := func(typ string, set map[string][]string) *asset.Command {
		c := &asset.Command{Verb: asset.Create, Self: &asset.Handle{}}
		c.Type, _ = model.Type(typ)
		for name, values := range set {
			c.Changes = append(c.Changes, asset.Change{Name: name, Set: text(values...)})
		}
		return c
	}
	commands := []*asset.Command{
		create("Scope", map[string][]string{"Name": {"A"}, "Parent": {"Scope:0"}, "BeginDate": {"2026-01-01"}}),
		create("Scope", map[string][]string{"Name": {"B"}, "Parent": {"Scope:0"}, "BeginDate": {"2026-01-01"}}),
	}
	stories := []*asset.Command{
		create("Story", map[string][]string{"Name": {"1"}, "Scope": {"Scope:1001"}, "TaggedWith": {"UX", "a <b> & 'c'"}}),
		create("Story", map[string][]string{"Name": {"2"}, "Scope": {"Scope:1002"}, "TaggedWith": {"ux", "Old"}}),
		create("Story", map[string][]string{"Name": {"3"}, "Scope": {"Scope:1002"}, "TaggedWith": {"Straße"}}),
	}
	err := e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		for _, part := range [][]*asset.Command{commands, stories} {
			done, err := s.Run(t.Context(), part)
			for _, o := range done {
				if err == nil && o.Err != nil {
					err = o.Err
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, e: e, Service: tags.New(e)}
}

// say returns the answer or the error.
func say(b []byte, err error) string {
	if err != nil {
		return fault.KindOf(err).String() + ": " + fault.Public(err)
	}
	return string(b)
}

func (w *world) expect(what, want, got string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestTagsAreCounted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		one := func(who auth.Actor, tag string) string { return say(w.One(t.Context(), who, tag)) }
		w.expect("in any case", `{"tag":"UX","count":2,"visibleCount":2}`, one(auth.System, "Ux"))
		some := auth.Actor{Member: 4711, Scopes: []int64{1002}}
		w.expect("seen in part, as it is spelled there", `{"tag":"ux","count":2,"visibleCount":1}`, one(some, "UX"))
		w.expect("nobody uses it", `{"tag":"none","count":0,"visibleCount":0}`, one(auth.System, "none"))
		w.expect("an empty one", `{"tag":"","count":0,"visibleCount":0}`, one(auth.System, ""))
		w.expect("as it is written", `{"tag":"a <b> & 'c'","count":1,"visibleCount":1}`, one(auth.System, "a <b> & 'c'"))
		w.expect("a pattern is text", `{"tag":"%","count":0,"visibleCount":0}`, one(auth.System, "%"))
		w.expect("all", `{"old":{"tag":"Old","count":1,"visibleCount":1},`+
			`"straße":{"tag":"Straße","count":1,"visibleCount":1},"ux":{"tag":"ux","count":2,"visibleCount":1}}`, say(w.All(t.Context(), some)))
		w.expect("used elsewhere only, like one that nobody uses", `{"tag":"a <B> & 'c'","count":0,"visibleCount":0}`, one(some, "a <B> & 'c'"))
		w.expect("of nobody's projects", `{}`, say(w.All(t.Context(), auth.Actor{Member: 4712})))
		w.expect("found", `["UX"]`, say(w.Search(t.Context(), auth.System, "uX")))
		w.expect("found by a letter beyond ASCII", `["Straße"]`, say(w.Search(t.Context(), some, "AßE")))
		w.expect("hidden ones are not found", `[]`, say(w.Search(t.Context(), some, "<b>")))
		w.expect("nothing is found", `[]`, say(w.Search(t.Context(), auth.System, "%")))
	})
}

func TestBadCommands(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		versions := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset_version`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := versions()
		const pair = "invalid: mergeTo must be a tag and mergeFrom a list of tags"
		for what, c := range map[string]struct{ body, merge, remove string }{
			"no JSON":             {`{`, "invalid: Invalid JSON at byte 1: it ends too early.", "invalid: Invalid JSON at byte 1: it ends too early."},
			"a list":              {`["ux"]`, "invalid: The body must be an object", "invalid: The body must be an object"},
			"an empty object":     {`{}`, pair, "invalid: removeFrom must be a list of tags"},
			"two to merge to":     {`{"mergeTo":["a","b"],"mergeFrom":["ux"]}`, pair, "invalid: Invalid key at node(s): root->mergeTo"},
			"nothing to merge":    {`{"mergeTo":"a","mergeFrom":[]}`, pair, "invalid: Invalid key at node(s): root->mergeTo"},
			"nothing to merge to": {`{"mergeFrom":["ux"]}`, pair, "invalid: Invalid key at node(s): root->mergeFrom"},
			"nothing to remove":   {`{"REMOVEFROM":[]}`, "invalid: Invalid key at node(s): root->REMOVEFROM", "invalid: removeFrom must be a list of tags"},
			"an unknown key":      {`{"tags":["ux"]}`, "invalid: Invalid key at node(s): root->tags", "invalid: Invalid key at node(s): root->tags"},
			"a number for a tag":  {`{"mergeTo":7,"mergeFrom":"ux"}`, "invalid: A tag must be a text that is not empty", "invalid: Invalid key at node(s): root->mergeTo"},
			"an empty tag":        {`{"removeFrom":["ux",""]}`, "invalid: Invalid key at node(s): root->removeFrom", "invalid: A tag must be a text that is not empty"},
			"too many tags": {
				`{"removeFrom":[` + strings.Repeat(`"x",`, 500) + `"x"]}`,
				"invalid: Invalid key at node(s): root->removeFrom", "invalid: removeFrom names more than 500 tags",
			},
		} {
			w.expect(what+", merged", c.merge, say(w.Merge(t.Context(), auth.System, []byte(c.body))))
			w.expect(what+", removed", c.remove, say(w.Remove(t.Context(), auth.System, []byte(c.body))))
		}
		reader := auth.Actor{Member: 4711, All: true}
		const denied = "denied: Tags are changed by project administrators"
		w.expect("who administers nothing, merging", denied, say(w.Merge(t.Context(), reader, []byte(`{"mergeTo":"a","mergeFrom":"ux"}`))))
		w.expect("who administers nothing, removing", denied, say(w.Remove(t.Context(), reader, []byte(`{"removeFrom":"ux"}`))))
		w.expect("a tag of nobody", `[{"tag":"none","count":0,"visibleCount":0}]`, say(w.Remove(t.Context(), auth.System, []byte(`{"removeFrom":"none"}`))))
		w.expect("a tag into itself", `{"tag":"UX","count":2,"visibleCount":2}`, say(w.Merge(t.Context(), auth.System, []byte(`{"mergeTo":"UX","mergeFrom":"UX"}`))))
		if n := versions(); n != before {
			t.Errorf("%d versions after commands that change nothing, %d before", n, before)
		}
	})
}

func TestChangesAreWhereTheCallerAdministers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		admin := auth.Actor{Member: 4711, Scopes: []int64{1002}, Roles: []meta.Role{meta.ProjectAdmin}, Held: meta.RolesOf(meta.ProjectAdmin)}
		w.expect("merged in one project", `{"tag":"New","count":1,"visibleCount":1}`, say(w.Merge(t.Context(), admin, []byte(`{"MergeTo":"New","MergeFrom":["ux","Old"]}`))))
		w.expect("left in the other", `{"tag":"UX","count":1,"visibleCount":1}`, say(w.One(t.Context(), auth.System, "ux")))
		w.expect("what is merged into nothing seen", `{"tag":"UX","count":0,"visibleCount":0}`, say(w.Merge(t.Context(), admin, []byte(`{"MergeTo":"UX","MergeFrom":["a <b> & 'c'"]}`))))
		w.expect("removed where it is not seen", `[{"tag":"a <b> & 'c'","count":0,"visibleCount":0}]`, say(w.Remove(t.Context(), admin, []byte(`{"removeFrom":["a <b> & 'c'"]}`))))
		w.expect("still there", `{"tag":"a <b> & 'c'","count":1,"visibleCount":1}`, say(w.One(t.Context(), auth.System, "a <b> & 'c'")))
		w.expect("removed", `[{"tag":"New","count":0,"visibleCount":0},{"tag":"ux","count":0,"visibleCount":0}]`,
			say(w.Remove(t.Context(), auth.System, []byte(`{"removeFrom":["New","ux"]}`))))
	})
}

// If a tag is removed from an asset while another request merges the tag, the asset does not get
// the tag of the merge.
func TestMergedWhileRemoved(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		for i := range 10 {
			was, to := fmt.Sprint("was", i), fmt.Sprint("to", i)
			w.tag("Story:1003", was)
			var wait sync.WaitGroup
			wait.Go(func() {
				if _, err := w.Merge(t.Context(), auth.System, fmt.Appendf(nil, `{"mergeTo": %q, "mergeFrom": [%q]}`, to, was)); err != nil {
					t.Error(err)
				}
			})
			wait.Go(func() {
				if _, err := w.Remove(t.Context(), auth.System, fmt.Appendf(nil, `{"removeFrom": [%q]}`, was)); err != nil {
					t.Error(err)
				}
			})
			wait.Wait()
		}
		var followed int
		err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset_value n WHERE n.folded LIKE 'to%'`+
			` AND NOT EXISTS (SELECT 1 FROM asset_value o WHERE o.from_id = n.from_id AND o.folded LIKE 'was%' AND o.until_moment = n.since_moment)`).Scan(&followed)
		if err != nil || followed > 0 {
			t.Errorf("%d times a tag came in the place of one that was gone: %v", followed, err)
		}
	})
}

func (w *world) tag(token, tag string) {
	w.t.Helper()
	o, err := oid.Parse(token)
	if err == nil {
		err = w.e.Write(w.t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
			_, err := s.Run(w.t.Context(), []*asset.Command{{Verb: asset.Update, Target: asset.Ref{OID: o}, Changes: []asset.Change{{Name: "TaggedWith", Add: []asset.Value{{Kind: asset.Text, Text: tag}}}}}})
			return err
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
