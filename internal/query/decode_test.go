package query

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
)

func parse(t *testing.T, body string, yaml bool) []document.Node {
	t.Helper()
	nodes, err := document.Parse([]byte(body), yaml)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func TestFromDocsReadsEveryForm(t *testing.T) {
	for _, c := range []struct {
		what, body string
		yaml       bool
		want       int
	}{
		{"one query", `{"from":"Story"}`, false, 1},
		{"a list", `[{"from":"Story"},{"from":"Epic"}]`, false, 2},
		{"an empty list", `[]`, false, 0},
		{"YAML documents", "from: Story\n---\nfrom: Epic\n", true, 2},
		{"a YAML list", "- from: Story\n- from: Epic\n", true, 2},
	} {
		got, err := FromDocs(parse(t, c.body, c.yaml))
		if err != nil || len(got) != c.want {
			t.Errorf("%s: got %d queries, %v; want %d", c.what, len(got), err, c.want)
		}
	}
}

func TestFromDocReadsEveryKey(t *testing.T) {
	const body = `{"from":"Story","select":["Name",{"from":"Owners","select":"Name"}],"where":{"A":1,"B":true,"C":null},
"filter":"D='1'","with":{"$x":"a,b","y":["a,b"],"z":3},"sort":["+A","-B"],"find":"q*","findin":["Name"],"page":{"start":"5","size":10},"asof":"All","update":{}}`
	r, err := FromDoc(&parse(t, body, false)[0], "update")
	if err != nil {
		t.Fatal(err)
	}
	with := map[string][]string{"x": {"a", "b"}, "y": {"a,b"}, "z": {"3"}}
	if diff := cmp.Diff(with, r.With); diff != "" {
		t.Errorf("with: %s", diff)
	}
	if len(r.Select) != 2 || r.Select[1].Sub == nil || r.Select[1].Sub.Select[0].Text.Text != "Name" {
		t.Errorf("select: %+v", r.Select)
	}
	if r.Where[0].Value.Text != "1" || r.Where[1].Value.Text != "true" || r.Where[2].Value.Text != "" {
		t.Errorf("where: %+v", r.Where)
	}
	if *r.Page != (Page{Start: 5, Size: 10}) || r.AsOf.Text != "All" || r.Find != "q*" || len(r.Sort) != 2 || len(r.Filter) != 1 {
		t.Errorf("got %+v", r)
	}
	if at := r.From.At; body[at:at+5] != "Story" {
		t.Errorf("from stands at %d", at)
	}
}

func TestFromDocRefuses(t *testing.T) {
	deep := `{"from":"A"}`
	for range MaxNested + 1 {
		deep = `{"from":"A","select":[` + deep + `]}`
	}
	for _, c := range []struct{ what, body, want string }{
		{"no from", `{}`, "from must be given"},
		{"from that is no text", `{"from":1}`, "from must be text"},
		{"a query that is text", `"Story"`, "root must be an object with the keys of a query"},
		{"an unknown key", `{"from":"A","FROM":1}`, "Invalid key at node(s): root->FROM"},
		{"an unknown key in a page", `{"from":"A","page":{"count":1}}`, "Invalid key at node(s): root->page->count"},
		{"the caller's key inside a nested select", `{"from":"A","select":[{"from":"B","update":1}]}`, "Invalid key at node(s): root->select->update"},
		{"a list as a value of where", `{"from":"A","where":{"ID":[1]}}`, "Key \"ID\" must have corresponding scalar value\r\nParameter name: ID"},
		{"where that is a list", `{"from":"A","where":[]}`, "where must be an object of attributes and values"},
		{"a number to select", `{"from":"A","select":[1]}`, "select must be text"},
		{"select that is a map", `{"from":"A","select":{}}`, "select must be a list of tokens"},
		{"a filter that is a number", `{"from":"A","filter":[7]}`, "filter must be text"},
		{"a negative page", `{"from":"A","page":{"size":-1}}`, "Invalid page: size -1"},
		{"a page with a fraction", `{"from":"A","page":{"start":1.5}}`, "Invalid page: start 1.5"},
		{"a page of words", `{"from":"A","page":"ten"}`, "Invalid page: ten"},
		{"a page that is a list", `{"from":"A","page":[]}`, "page must be an object with start and size"},
		{"a page far too large", `{"from":"A","page":{"size":99999999999999999999}}`, "Invalid page: size 99999999999999999999"},
		{"a map as a variable", `{"from":"A","with":{"$x":{}}}`, "Key \"$x\" must have corresponding scalar value\r\nParameter name: $x"},
		{"a group that is a word", `{"from":"A","group":"B"}`, "group must be a list of objects with from and select"},
		{"a group with a filter", `{"from":"A","group":[{"from":"B","filter":"x"}]}`, "Invalid key at node(s): root->group->filter"},
		{"a total that is a number", `{"from":"A","total":1}`, "total must be true or false"},
		{"a total of a nested select", `{"from":"A","select":[{"from":"B","total":true}]}`, "Invalid key at node(s): root->select->total"},
		{"a start beside a cursor", `{"from":"A","page":{"start":1,"after":""}}`, "page: start and after exclude each other"},
		{"selects deeper than the limit", deep, "too many selects inside each other: the limit is 8"},
	} {
		_, err := FromDoc(&parse(t, c.body, false)[0], "update")
		if fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.want {
			t.Errorf("%s: got %q, want %q", c.what, fault.Public(err), c.want)
		}
		if at := fault.Place(err); at < 0 || at > len(c.body) {
			t.Errorf("%s: it stands at %d", c.what, at)
		}
	}
}

func TestWithParamSplitsOnlyBeforeAVariable(t *testing.T) {
	for in, want := range map[string]map[string][]string{
		"":                   nil,
		"$A=1":               {"A": {"1"}},
		"$A=1,2;$B=3":        {"A": {"1", "2"}, "B": {"3"}},
		"$A=1|$B=3":          {"A": {"1"}, "B": {"3"}},
		"$A=x;y=z|w;$B=a$b=": {"A": {"x;y=z|w"}, "B": {"a$b="}},
		"$A=":                {"A": {""}},
	} {
		if diff := cmp.Diff(want, withParam(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestFromParamsFoldsNames(t *testing.T) {
	r, err := FromParams(Address{Type: "Story"}, url.Values{"Where": {"A='1'"}, "SELECT": {"Name, Owners"}, "pageSize": {"20"}})
	if err != nil || r.Basic || len(r.Select) != 2 || r.Select[1].At != 6 || len(r.Filter) != 1 || r.Page != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	r, _ = FromParams(Address{Type: "Story"}, url.Values{"sel": {""}})
	if r.Basic || len(r.Select) != 0 {
		t.Error("an empty sel asks for something")
	}
	r, _ = FromParams(Address{Type: "Story", ID: "7"}, nil)
	if !r.Basic || !r.One || r.From.Text != "Story:7" {
		t.Errorf("got %+v", r)
	}
}

func TestAddressOf(t *testing.T) {
	for path, want := range map[string]Address{
		"":                      {},
		"Story":                 {Type: "Story"},
		"Story/7":               {Type: "Story", ID: "7"},
		"Story:7":               {Type: "Story", ID: "7"},
		"Story:7:8/Name":        {Type: "Story", ID: "7", Moment: "8", Attr: "Name"},
		"Story:7/8/Name":        {Type: "Story", ID: "7", Moment: "8", Attr: "Name"},
		"Story:7:8/9":           {Type: "Story", ID: "7", Moment: "8", Attr: "9"},
		"Story/7/8":             {Type: "Story", ID: "7", Moment: "8"},
		"Story/7/Owners.Name":   {Type: "Story", ID: "7", Attr: "Owners.Name"},
		"Story/7/8/Name":        {Type: "Story", ID: "7", Moment: "8", Attr: "Name"},
		"Story/7/8//Name":       {Type: "Story", ID: "7", Moment: "8", Attr: "Name"},
		"Story/7/N[X='a//b']/Y": {Type: "Story", ID: "7", Attr: "N[X='a//b']/Y"},
	} {
		if got := AddressOf(path); got != want {
			t.Errorf("%s: got %+v", path, got)
		}
	}
}
