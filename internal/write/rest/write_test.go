package rest_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) { testdb.Main(m) }

var form = encode.Form{Base: "/alds/rest-1.v1/Data"}

func engine(t *testing.T, d *db.DB) *rest.Engine {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	return rest.New(asset.New(d, model, nil, nil), find.New(d, model))
}

// versions returns the number of versions of all assets. A refused write adds no version.
func versions(t *testing.T, d *db.DB) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset_version`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRefusedWrites(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		if _, err := e.Write(t.Context(), auth.System, rest.Write{Form: form, Type: "Story", Key: "used", Body: []byte(`{"Attributes":{"Name":"S","Scope":"Scope:0"}}`)}); err != nil {
			t.Fatal(err)
		}
		before := versions(t, d)
		for what, c := range map[string]struct {
			w    rest.Write
			kind fault.Kind
			msg  string
		}{
			"an unknown type":            {rest.Write{Type: "Nope"}, fault.Invalid, "Unknown AssetType: Nope"},
			"an abstract type":           {rest.Write{Type: "Workitem", Body: []byte(`{"Attributes":{"Name":"x"}}`)}, fault.Invalid, "Abstract AssetType: Workitem"},
			"a body that is no object":   {rest.Write{Type: "Story", Body: []byte(`7`)}, fault.Invalid, "The body must be an object with Attributes"},
			"nothing required":           {rest.Write{Type: "Story"}, fault.Invalid, "Violation'Required'Story.Name"},
			"an unknown attribute":       {rest.Write{Type: "Story", Body: []byte(`{"Attributes":{"Nope":1}}`)}, fault.Invalid, "Unknown AttributeDefinition: Story.Nope"},
			"an act that is none":        {rest.Write{Type: "Story", ID: "1001", Body: []byte(`{"Attributes":{"Name":{"value":"x","act":"no"}}}`)}, fault.Invalid, "Unknown act: no"},
			"a read-only attribute":      {rest.Write{Type: "Story", ID: "1001", Body: []byte(`{"Attributes":{"Number":"S-7"}}`)}, fault.Invalid, "Violation'ReadOnly'Story.Number"},
			"an asset that is not there": {rest.Write{Type: "Story", ID: "999999"}, fault.NotFound, "Not Found"},
			"an id of another type":      {rest.Write{Type: "Epic", ID: "1001"}, fault.NotFound, "Not Found"},
			"an id that is no number":    {rest.Write{Type: "Story", ID: "x"}, fault.Invalid, "Invalid OID token: Story:x"},
			"an id without end":          {rest.Write{Type: "Story", ID: strings.Repeat("9", 30)}, fault.Invalid, "Invalid OID token: Story:999999999999999999999999999999"},
			"an unknown operation":       {rest.Write{Type: "Story", ID: "1001", Op: "Nope"}, fault.Invalid, "Unknown Operation 'Story.Nope'"},
			"an operation not for now":   {rest.Write{Type: "Story", ID: "1001", Op: "EpicToStory"}, fault.Invalid, "Invalid Operation 'Story.EpicToStory'"},
			"a context that is no Oid":   {rest.Write{Type: "Story", Context: "here"}, fault.Invalid, "Invalid OID token: here"},
			"a context that is nothing":  {rest.Write{Type: "Story", Context: "Scope:999999"}, fault.Invalid, "Invalid OID token: Scope:999999"},
			"a stale moment":             {rest.Write{Type: "Story", ID: "1001", IfMoment: 7, Body: []byte(`{"Attributes":{"Name":"x"}}`)}, fault.Conflict, "Story:1001 has changed since the moment of If-Match"},
			"a key for another body":     {rest.Write{Type: "Story", Key: "used", Body: []byte(`{"Attributes":{}}`)}, fault.Conflict, "The Idempotency-Key was used for another request"},
			"a key without end":          {rest.Write{Type: "Story", Key: strings.Repeat("k", 256)}, fault.Invalid, "Idempotency-Key has more than 255 bytes"},
		} {
			c.w.Form = form
			_, err := e.Write(t.Context(), auth.System, c.w)
			if fault.KindOf(err) != c.kind || fault.Public(err) != c.msg {
				t.Errorf("%s: %s: %v, want %s: %s", what, fault.KindOf(err), err, c.kind, c.msg)
			}
		}
		if n := versions(t, d); n != before {
			t.Errorf("%d versions after what was refused, %d before", n, before)
		}
	})
}

func TestRefusedTemplates(t *testing.T) {
	d := testdb.SQLite(t)
	e := engine(t, d)
	for what, c := range map[string]struct{ typ, in, msg string }{
		"an unknown type":           {"Nope", "", "Unknown AssetType: Nope"},
		"an abstract type":          {"Workitem", "", "Abstract AssetType: Workitem"},
		"a context that is no Oid":  {"Story", "here", "Invalid OID token: here"},
		"a context that is nothing": {"Story", "Scope:999999", "Invalid OID token: Scope:999999"},
		"an Oid of another type":    {"Story", "Epic:20", "Invalid OID token: Epic:20"},
	} {
		if _, err := e.Template(t.Context(), auth.System, encode.Form{Base: "/alds/rest-1.v1/New"}, c.typ, c.in); fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.msg {
			t.Errorf("%s: %v, want %s", what, err, c.msg)
		}
	}
}

// If the caller may not see an asset, the asset is not found as a context or as a target.
func TestWhatIsHidden(t *testing.T) {
	d := testdb.SQLite(t)
	e := engine(t, d)
	blind := auth.Actor{Member: 4711}
	if _, err := e.Template(t.Context(), blind, encode.Form{Base: "/alds/rest-1.v1/New"}, "Story", "Scope:0"); fault.Public(err) != "Invalid OID token: Scope:0" {
		t.Errorf("a context that the caller does not see: %v", err)
	}
	if _, err := e.Write(t.Context(), blind, rest.Write{Form: form, Type: "Scope", ID: "0", Body: []byte(`{"Attributes":{"Name":"x"}}`)}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a change of what the caller does not see: %v", err)
	}
}

// A path finds an asset by its type and by the types above it. It does not find a deleted asset
// or an asset in a deleted project, except for Delete and Undelete.
func TestTargetsOfPaths(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		write := func(typ, id, op, body string) error {
			t.Helper()
			_, err := e.Write(t.Context(), auth.System, rest.Write{Form: form, Type: typ, ID: id, Op: op, Body: []byte(body)})
			return err
		}
		for _, made := range []struct{ typ, body string }{
			{"Scope", `{"Attributes":{"Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}}`}, // Scope:1001
			{"Story", `{"Attributes":{"Name":"S","Scope":"Scope:0"}}`},                           // Story:1002
			{"Story", `{"Attributes":{"Name":"T","Scope":"Scope:1001"}}`},
		} {
			if err := write(made.typ, "", "", made.body); err != nil {
				t.Fatal(err)
			}
		}
		const rename = `{"Attributes":{"Name":"x"}}`
		for _, c := range []struct {
			typ, id, op, body string
			there             bool
		}{
			{"Story", "1002", "", rename, true},
			{"Workitem", "1002", "", rename, true},
			{"Defect", "1002", "", rename, false},
			{"Member", "20", "", rename, true},
			{"Scope", "1002", "", rename, false},
			{"Story", "1002", "Delete", "", true},
			{"Story", "1002", "", rename, false},
			{"Workitem", "1002", "", rename, false},
			{"Story", "1002", "Delete", "", true}, // is deleted already
			{"Story", "1002", "Undelete", "", true},
			{"Story", "1002", "", rename, true},
			{"Story", "1003", "", rename, true},
			{"Scope", "1001", "Delete", "", true},
			{"Story", "1003", "", rename, false},
			{"Scope", "1001", "Undelete", "", true},
			{"Story", "1003", "", rename, true},
		} {
			err := write(c.typ, c.id, c.op, c.body)
			if c.there != (err == nil) || !c.there && fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s/%s %s, there %v: %v", c.typ, c.id, c.op, c.there, err)
			}
		}
	})
}
