package clienttest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// reader requests pages and sends forms as a browser does. cookie is the session of the client's member.
type reader struct {
	*client
	cookie *http.Cookie
}

func (c *client) reads() *reader {
	c.t.Helper()
	var made struct{ Token string }
	if status := c.request(http.MethodPost, "/api/tokens", object{"name": "pages"}, &made); status != http.StatusOK || made.Token == "" {
		c.t.Fatalf("%d: no token", status)
	}
	return &reader{client: c, cookie: &http.Cookie{Name: ".V1.Ticket.alds", Value: made.Token}}
}

// page requests a page. If form is not nil, it sends the form instead. It does not follow redirects.
func (r *reader) page(path string, form url.Values) (status int, location, body string) {
	r.t.Helper()
	method, content := http.MethodGet, ""
	if form != nil {
		method, content = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(content))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	req.AddCookie(r.cookie)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(got)
}

// fields returns the values that a browser sends for the first form in the main part of a page.
func fields(t *testing.T, body string) url.Values {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{}
	for n := range find(root, "main").Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" {
			for f := range n.Descendants() {
				addField(form, f)
			}
			return form
		}
	}
	return form
}

func addField(form url.Values, n *html.Node) {
	name := attr(n, "name")
	if n.Type != html.ElementNode || name == "" {
		return
	}
	switch n.Data {
	case "input":
		if kind := attr(n, "type"); kind != "checkbox" && kind != "radio" || has(n, "checked") {
			form.Add(name, attr(n, "value"))
		}
	case "textarea":
		text := ""
		for c := range n.ChildNodes() {
			text += c.Data
		}
		form.Add(name, strings.ReplaceAll(text, "\n", "\r\n"))
	case "select":
		chosen := ""
		for o := range n.Descendants() {
			if o.Data == "option" && has(o, "selected") {
				chosen = attr(o, "value")
			}
		}
		form.Add(name, chosen)
	}
}

func find(n *html.Node, tag string) *html.Node {
	for one := range n.Descendants() {
		if one.Type == html.ElementNode && one.Data == tag {
			return one
		}
	}
	return n
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// TestAssetPages checks that an asset of every type has a page with every writable attribute. A form that
// is sent unchanged must change nothing.
func TestAssetPages(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			if testing.Short() && dialect == "mysql" {
				t.Skip("long tier only: the same pages on the other database")
			}
			t.Parallel()
			c := connect(t, start(t, dialect))
			c.extend()
			r := c.reads()
			for _, typ := range c.some(0, 4) {
				if oid := r.filled(typ); oid != "" {
					r.mustShow(oid)
				}
			}
		})
	}
}

// filled returns the Oid of an asset with as many values as possible, or "" if there is no asset of the
// type.
func (r *reader) filled(typ *assetType) string {
	r.t.Helper()
	if !typ.creatable() {
		if all := r.related(typ.Token); len(all) > 0 && !typ.Abstract {
			return all[0]
		}
		return ""
	}
	oid := r.make(typ.Token)
	var commands []object
	for _, a := range sorted(typ.Attributes) {
		if !a.IsReadOnly && !own[a.Token] && !never[a.Token] && a.AttributeType != "Rank" {
			commands = append(commands, object{"from": oid, "update": object{a.Name: r.any(typ.Token, a, 0)}})
		}
	}
	r.send(commands...) // some of these writes fail, and the attribute keeps its value
	return oid
}

// mustShow requests all tabs of an asset, and sends its form unchanged.
func (r *reader) mustShow(oid string) {
	r.t.Helper()
	address := "/assetdetail.v1?oid=" + oid
	var form url.Values
	for _, tab := range []string{"", "&totals=1", "&tab=history", "&tab=activity", "&tab=edit"} {
		status, _, body := r.page(address+tab, nil)
		mayNot := tab == "&tab=edit" && status == http.StatusForbidden
		if status != http.StatusOK && !mayNot || !strings.Contains(body, "</html>") {
			r.t.Errorf("%s%s: %d\n%.2000s", oid, tab, status, body)
			return
		}
		for _, wrong := range []string{"ZgotmplZ", "&lt;no value&gt;", "%!"} {
			if strings.Contains(body, wrong) {
				r.t.Errorf("%s%s has %s", oid, tab, wrong)
			}
		}
		if tab == "&tab=edit" && !mayNot {
			form = fields(r.t, body)
		}
	}
	if form == nil {
		return
	}
	if status, _, _ := r.page(address+":"+form.Get("moment"), nil); status != http.StatusOK {
		r.t.Errorf("%s:%s: %d", oid, form.Get("moment"), status)
	}
	if status, location, body := r.page("/ui/asset/"+oid, form); status != http.StatusSeeOther || !strings.Contains(location, "done=same") {
		r.t.Errorf("%s: a form that nobody has changed is answered with %d, %s\n%.2000s", oid, status, location, body)
	}
}

// TestAssetPageOfMany checks a page of an asset with a thousand related assets. It must show about fifty of
// them and a link to all.
func TestAssetPageOfMany(t *testing.T) {
	t.Parallel()
	c := connect(t, start(t, "sqlite"))
	scope := c.make("Scope")
	var stories []any
	for i := range 1000 {
		stories = append(stories, object{"AssetType": "Story", "Name": fmt.Sprintf("Story %d", i), "Owners": "Member:20"})
	}
	c.send(object{"from": scope, "update": object{"Workitems": stories}})
	first := c.make("Story")
	c.send(object{"from": first, "update": object{"Dependencies": object{"from": "Story", "where": object{"Scope": scope}}}})
	r := c.reads()
	for oid, label := range map[string]string{scope: "Workitems", "Member:20": "OwnedWorkitems", first: "Dependencies"} {
		status, _, body := r.page("/assetdetail.v1?oid="+oid, nil)
		if n := strings.Count(body, "oid=Story%3a"); status != http.StatusOK || n < 50 || n > 200 || !strings.Contains(body, "ui/console?path=") {
			t.Errorf("%s, %s: %d, %d stories", oid, label, status, n)
		}
		for _, tab := range []string{"&tab=history", "&tab=activity", "&tab=edit"} {
			if status, _, body := r.page("/assetdetail.v1?oid="+oid+tab, nil); status != http.StatusOK || len(body) > 1<<20 {
				t.Errorf("%s%s: %d with %d bytes", oid, tab, status, len(body))
			}
		}
	}
}
