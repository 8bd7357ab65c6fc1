package spectest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// runner executes the steps of a case or the examples of a document.
type runner struct {
	t        *testing.T
	base     string // http://host:port/instance
	vars     map[string]string
	receiver *receiver
	shown    int    // number of deliveries that the examples have shown so far
	last     string // text of the last request
	status   int
	header   http.Header
	body     []byte
}

// serial is the number of cases so far. It makes the words of each case different.
var serial atomic.Int64

func runCase(t *testing.T, base, token string, c specCase) {
	t.Helper()
	r := &runner{t: t, base: base, receiver: newReceiver(t)}
	r.vars = map[string]string{
		"receiver": r.receiver.URL,
		"word":     fmt.Sprintf("word%d", serial.Add(1)),
		"token":    token,
	}
	word := r.vars["word"]
	for name, member := range map[string]string{"basic": word, "basic2": word + "-2", "basic3": word + "-3"} {
		r.vars[name] = "Basic " + base64.StdEncoding.EncodeToString([]byte(member+":pass-"+word))
	}
	r.makeScope()
	for _, s := range c.steps {
		text := r.fill(s.text)
		if problem := r.step(s.kind, text); problem != "" {
			t.Fatalf("%s\n%s.txtar:%d: %s\nlast answer: %d %s", c.what, c.file, s.line, problem, r.status, shorten(r.body))
		}
	}
}

// makeScope creates the project of the case and stores its Oid as scope.
func (r *runner) makeScope() {
	r.t.Helper()
	problem := r.ask(fmt.Sprintf("POST /api/asset\n\n"+
		`{"AssetType": "Scope", "Name": "%s", "Parent": "Scope:0", "BeginDate": "2026-01-01"}`, r.vars["word"]))
	if problem == "" {
		problem = r.capture("scope = assetsCreated.oidTokens.0")
	}
	if problem != "" {
		r.t.Fatalf("create the case's project: %s\nlast answer: %d %s", problem, r.status, shorten(r.body))
	}
}

// step executes one section. It returns a description of what is wrong, or "" if nothing is.
func (r *runner) step(kind, text string) string {
	switch kind {
	case "request":
		return r.ask(text)
	case "response":
		return r.expectResponse(text)
	case "body":
		return r.expectJSON(text, false)
	case "body contains":
		return r.expectJSON(text, true)
	case "body text":
		if got := strings.TrimSpace(string(r.body)); !textMatches(strings.TrimSpace(text), got) {
			return fmt.Sprintf("want %q, got %q", strings.TrimSpace(text), got)
		}
	case "body becomes":
		return r.soon(func() string { return r.expectJSON(text, true) })
	case "capture":
		return r.capture(text)
	case "later":
		time.Sleep(2 * time.Millisecond)
	case "received":
		return r.expectReceived(text, &r.receiver.events)
	case "deliveries":
		return r.expectReceived(text, &r.receiver.deliveries)
	case "signed":
		return r.receiver.expectSigned(text)
	}
	return ""
}

// ask sends a request as the administrator. It adds the usual headers, unless the text has them.
// "Authorization: none" means that it sends no credentials. It returns a description of what is wrong, or
// "".
func (r *runner) ask(text string) string {
	r.last = text
	q, err := parseRequest(text)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, q.method, r.base+q.path, strings.NewReader(q.body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("admin", adminPassword)
	for name, values := range q.header {
		req.Header[name] = values
	}
	if req.Header.Get("Authorization") == "none" {
		req.Header.Del("Authorization")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	r.status, r.header = res.StatusCode, res.Header
	if r.body, err = io.ReadAll(res.Body); err != nil {
		return err.Error()
	}
	return failuresAreExact(r.body)
}

// failuresAreExact checks an answer of a case. The error of a failed command must have exactly two members,
// because clients compare the whole error. The diagnostics must have the positions of failures, in the
// order of the failures, or be missing.
func failuresAreExact(body []byte) string {
	var a struct {
		CommandFailures struct{ Commands []map[string]json.RawMessage }
		Diagnostics     *[]map[string]int
	}
	if json.Unmarshal(body, &a) != nil {
		return "" // not an answer of api/asset
	}
	for i, c := range a.CommandFailures.Commands {
		var e map[string]any
		if err := json.Unmarshal(c["error"], &e); err != nil || len(e) != 2 || e["message"] == nil || e["sourceCommandIndex"] == nil {
			return fmt.Sprintf("failure %d: the error is %s, want message and sourceCommandIndex alone", i, c["error"])
		}
	}
	if a.Diagnostics == nil {
		return ""
	}
	before := -1
	for _, d := range *a.Diagnostics {
		_, placed := d["position"]
		if len(d) != 4 || !placed || d["line"] < 1 || d["column"] < 1 || d["failure"] <= before || d["failure"] >= len(a.CommandFailures.Commands) {
			return fmt.Sprintf("%v is no place of one of %d failures, in their order", d, len(a.CommandFailures.Commands))
		}
		before = d["failure"]
	}
	if before < 0 {
		return "diagnostics without any place"
	}
	return ""
}

func (r *runner) expectResponse(text string) string {
	want, err := parseResponse(text)
	if err != nil {
		return err.Error()
	}
	if r.status != want.status {
		return fmt.Sprintf("want status %d, got %d", want.status, r.status)
	}
	for name := range want.header {
		if w, g := want.header.Get(name), r.header.Get(name); !textMatches(w, g) {
			return fmt.Sprintf("want the header %s: %s, got %q", name, w, g)
		}
	}
	return ""
}

func (r *runner) expectJSON(text string, part bool) string {
	want, err := decode([]byte(text))
	if err != nil {
		return fmt.Sprintf("the case's own JSON: %v", err)
	}
	got, err := decode(r.body)
	if err != nil {
		return fmt.Sprintf("the answer is not JSON: %v", err)
	}
	return match("$", want, got, part)
}

func (r *runner) expectReceived(text string, from *[]any) string {
	want, err := decode([]byte(text))
	if err != nil {
		return fmt.Sprintf("the case's own JSON: %v", err)
	}
	list, ok := want.([]any)
	if !ok {
		return "what is received is a list"
	}
	n := len(list)
	if n > 0 && list[n-1] == more {
		n--
	}
	return match("$", list, any(r.receiver.wait(n, from)), true)
}

// rootAttributes returns the attributes of the root element of an XML answer. The key is "@name".
func rootAttributes(body []byte) (any, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if root, ok := t.(xml.StartElement); ok {
			all := map[string]any{}
			for _, a := range root.Attr {
				all["@"+a.Name.Local] = a.Value
			}
			return all, nil
		}
	}
}

// capture stores values of the last answer. Each line of text has the form "name = path".
func (r *runner) capture(text string) string {
	read := decode
	if bytes.HasPrefix(r.body, []byte("<")) {
		read = rootAttributes
	}
	got, err := read(r.body)
	if err != nil {
		return fmt.Sprintf("the answer is neither JSON nor XML: %v", err)
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		name, path, ok := strings.Cut(line, "=")
		if !ok {
			return fmt.Sprintf("%q is not name = path", line)
		}
		value, err := follow(got, strings.Split(strings.TrimSpace(path), "."))
		if err != nil {
			return err.Error()
		}
		name = strings.TrimSpace(name)
		r.vars[name] = value
		if parts := strings.Split(value, ":"); len(parts) > 1 {
			r.vars[name+".id"] = parts[1]
			r.vars[name+".moment"] = parts[len(parts)-1]
		}
	}
	return ""
}

func follow(v any, path []string) (string, error) {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return "", fmt.Errorf("no element %q in %s", key, show(v))
			}
			v = x[i]
		default:
			return "", fmt.Errorf("no %q in %s", key, show(v))
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return show(v), nil
}

var variable = regexp.MustCompile(`\{\{([a-zA-Z0-9_.]+)\}\}`)

// fill replaces each {{name}} by its captured value. The case fails if there is no such value.
func (r *runner) fill(text string) string {
	r.t.Helper()
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		value, ok := r.vars[found[2:len(found)-2]]
		if !ok {
			r.t.Fatalf("nothing is captured as %s", found)
		}
		return value
	})
}

func shorten(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "..."
	}
	return string(b)
}
