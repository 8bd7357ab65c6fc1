package feed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestWhatARequestMayNotAskFor(t *testing.T) {
	s := newService(testdb.SQLite(t))
	for _, c := range []struct {
		why    string
		r      Request
		as     auth.Actor
		status fault.Kind
		text   string
	}{
		{"no change", Request{Page: "0"}, auth.System, fault.Invalid, "Invalid page: 0 (wanted: a number of changes from 1 to 1000)"},
		{"too many", Request{Page: "1001"}, auth.System, fault.Invalid, "Invalid page: 1001 (wanted: a number of changes from 1 to 1000)"},
		{"no number", Request{Page: "ten"}, auth.System, fault.Invalid, "Invalid page: ten (wanted: a number of changes from 1 to 1000)"},
		{"no type of events", Request{Type: "AssetDeleted"}, auth.System, fault.Invalid, "Invalid type: AssetDeleted (wanted: AssetCreated or AssetChanged)"},
		{"test events", Request{Type: "Test"}, auth.System, fault.Invalid, "Invalid type: Test (wanted: AssetCreated or AssetChanged)"},
		{"no type of assets", Request{From: "Nothing"}, auth.System, fault.Invalid, "Unknown AssetType: Nothing"},
		{"attributes of all types", Request{Attributes: "Name"}, auth.System, fault.Invalid, "attributes needs the parameter from"},
		{"a filter of all types", Request{Filter: "Name='x'"}, auth.System, fault.Invalid, "filter needs the parameter from"},
		{"values of all types", Request{Select: "Name"}, auth.System, fault.Invalid, "select needs the parameter from"},
		{"an attribute that is not there", Request{From: "Story", Attributes: "Nothing"}, auth.System, fault.Invalid, "Unknown AttributeDefinition: Story.Nothing"},
		{"a value that is not there", Request{From: "Story", Select: "Nothing"}, auth.System, fault.Invalid, "Unknown AttributeDefinition: Story.Nothing"},
		{"a filter that ends early", Request{From: "Story", Filter: "Name="}, auth.System, fault.Invalid, ""},
		{"a member that is none", Request{UserContext: "Story:1"}, auth.System, fault.Invalid, "Invalid OID token: Story:1"},
		{"a member of a moment", Request{UserContext: "Member:1001:5"}, auth.System, fault.Invalid, "Invalid OID token: Member:1001:5"},
		{"no Oid", Request{UserContext: "me"}, auth.System, fault.Invalid, "Invalid OID token: me"},
		{"a member that is not there", Request{UserContext: "Member:1002"}, auth.System, fault.Invalid, "Invalid OID token: Member:1002"},
		{"another member", Request{UserContext: "Member:20"}, reads, fault.Denied, "Only a system administrator may read changes as another member sees them"},
		{"another member that is not there", Request{UserContext: "Member:1002"}, reads, fault.Denied, "Only a system administrator may read changes as another member sees them"},
	} {
		for range 2 { // a refused definition must not be cached
			_, err := s.read(t.Context(), c.as, &c.r)
			if fault.KindOf(err) != c.status || err == nil || c.text != "" && err.Error() != c.text {
				t.Errorf("%s: %v", c.why, err)
			}
		}
	}
	if n := len(s.compiled.all); n != 0 {
		t.Errorf("%d definitions are kept", n)
	}
}

func TestWhatARequestAsksFor(t *testing.T) {
	s := newService(testdb.SQLite(t))
	story, ok := s.model.Type("Story")
	if !ok {
		t.Fatal("no type Story")
	}
	for _, c := range []struct {
		why   string
		r     Request
		as    auth.Actor
		size  int
		types int // number of asset types; 0: all types
		who   int64
	}{
		{"everything", Request{}, auth.System, 100, 0, auth.SystemMember},
		{"everything that a member sees", Request{}, reads, 100, 0, 1001},
		{"a small page", Request{Page: "7"}, auth.System, 7, 0, auth.SystemMember},
		{"one type", Request{From: "Story"}, auth.System, 100, 1, auth.SystemMember},
		{"some values", Request{From: "Story", Attributes: "Name, Estimate", Filter: "Name=$A", With: "$A=x,y", Select: "Name,Owners.Name"}, auth.System, 100, 1, auth.SystemMember},
		{"as another member", Request{From: "Story", UserContext: "Member:1001"}, auth.System, 100, 1, 1001},
		{"as oneself", Request{From: "Story", UserContext: "Member:1001"}, reads, 100, 1, 1001},
	} {
		q, err := s.read(t.Context(), c.as, &c.r)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if q.size != c.size || q.who.Member != c.who || c.types > 0 && len(q.codes) != c.types || c.types == 0 && len(q.codes) < 50 || !slices.Contains(q.codes, story.Code) {
			t.Errorf("%s: %d of the types %v as %d", c.why, q.size, q.codes, q.who.Member)
		}
	}
}

// TestADefinitionIsCompiledOnce checks how often a definition is compiled: once for all members who
// see everything, and once for each other member.
func TestADefinitionIsCompiledOnce(t *testing.T) {
	s := newService(testdb.SQLite(t))
	read := func(as auth.Actor, r Request) *rules {
		t.Helper()
		q, err := s.read(t.Context(), as, &r)
		if err != nil {
			t.Fatal(err)
		}
		return q.rules
	}
	first := read(auth.System, Request{From: "Story"})
	if read(auth.System, Request{From: "Story", After: "5.0", Page: "3"}) != first || read(auth.Actor{Member: 30, All: true}, Request{From: "Story"}) != first {
		t.Error("the same definition is compiled twice")
	}
	for _, other := range []*rules{
		read(reads, Request{From: "Story"}), read(auth.System, Request{From: "Story", Type: "AssetCreated"}),
		read(auth.System, Request{From: "Story", Select: "Name"}), read(auth.System, Request{From: "Story", Filter: "Name='x'"}), read(auth.System, Request{From: "Story", Attributes: "Name"}),
		read(auth.System, Request{From: "Story", Filter: "Name=$A", With: "$A=x"}), read(auth.System, Request{From: "Defect"}),
	} {
		if other == first {
			t.Error("another definition is taken for the first")
		}
	}
	if read(reads, Request{From: "Story"}) != read(auth.System, Request{From: "Story", UserContext: "Member:1001"}) {
		t.Error("what a member sees is compiled twice")
	}
	if read(reads, Request{From: "Story"}) == read(auth.System, Request{From: "Story", UserContext: "Member:1003"}) {
		t.Error("what a member sees is taken for what another one sees")
	}
	for i := range 2 * maxAsked {
		read(auth.System, Request{From: "Story", Filter: fmt.Sprintf("Name='%d'", i)})
	}
	if n := len(s.compiled.all); n != maxAsked {
		t.Errorf("%d definitions are kept, want %d", n, maxAsked)
	}
}
