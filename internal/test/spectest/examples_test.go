package spectest

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// document is a Markdown file with examples. The test executes the examples in their order, in a new
// database.
type document struct {
	file     string
	receiver string // URL that the receiver has in the text
	received string // events that the receiver must have after all examples; empty: not checked
}

// documents are the files with examples. In their text, the URL of the service is baseInText.
var documents = []document{
	{
		file: "README.md", receiver: "http://127.0.0.1:9000",
		received: `[{"eventType": "AssetChanged", "snapshot": [{"Name": "Pay by card", "Status.Name": "In Progress", "Estimate": "5"}]}]`,
	},
	{file: "docs/interface.md", receiver: "https://hooks.example.org"},
}

const baseInText = "http://127.0.0.1:8080/alds"

// TestExamples sends the requests in each document one after another. The answers and deliveries must be
// those in the document.
func TestExamples(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		for _, d := range documents {
			t.Run(dialect+"/"+d.file, func(t *testing.T) {
				t.Parallel()
				d.run(t, dialect)
			})
		}
	}
}

func (d document) run(t *testing.T, dialect string) {
	text, err := os.ReadFile("../../../" + d.file)
	if err != nil {
		t.Fatal(err)
	}
	base, token := startService(t, dialect)
	r := &runner{t: t, base: base, receiver: newReceiver(t), vars: map[string]string{"token": token}}
	steps := examples(string(text))
	for _, name := range namedOnce(steps) {
		t.Errorf("%s: <%s> is no placeholder and stands there only once", d.file, name)
	}
	for i, s := range steps {
		problem := r.example(s, i+1 < len(steps) && strings.HasPrefix(steps[i+1].kind, "http answer"), d)
		if problem != "" {
			t.Fatalf("%s:%d: %s\nlast answer: %d %s", d.file, s.line, problem, r.status, shorten(r.body))
		}
	}
	if len(steps) == 0 {
		t.Error("the document has no examples")
	}
	if d.received != "" {
		if problem := r.expectReceived(d.received, &r.receiver.events); problem != "" {
			t.Error(problem)
		}
	}
}

// examples returns the fenced blocks of a text that are requests, answers, deliveries or curl commands. The
// kind of such a block is the text after the fence; for a curl command it is "curl".
func examples(text string) []step {
	var steps []step
	var open *step
	for n, line := range strings.Split(text, "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &step{kind: kind, line: n + 1}
		case fence:
			if open.kind == "" && strings.HasPrefix(open.text, "curl ") {
				open.kind = "curl"
			}
			if open.kind == "curl" || strings.Contains(open.kind, " ") {
				steps = append(steps, *open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return steps
}

// example runs one block. It returns a description of what is wrong, or "" if nothing is.
func (r *runner) example(s step, answerShown bool, d document) string {
	text := strings.NewReplacer(baseInText, r.base, d.receiver, r.receiver.URL).Replace(s.text)
	switch s.kind {
	case "curl":
		return r.askAndSucceed(curlRequest(r.base, text))
	case "http request":
		if answerShown {
			return r.ask(r.known(text))
		}
		return r.askAndSucceed(r.known(text))
	case "http answer":
		return r.expectAnswer(text)
	case "http answer later":
		return r.soon(func() string { return r.expectAnswer(text) })
	case "json deliveries":
		return r.expectDeliveries(r.forms(text))
	}
	return "an example is no " + s.kind
}

// curl matches a curl command. Its groups are the URL and the body, which may be empty.
var curl = regexp.MustCompile(`(?s)^curl .*?(http://[^\s"]+)"?(?: -d '(.*)')?\s*$`)

// curlRequest returns the request that a curl command sends.
func curlRequest(base, text string) string {
	parts := curl.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return text // this text is no valid request, so the test fails
	}
	method := "GET"
	if parts[2] != "" {
		method = "POST"
	}
	return method + " " + strings.TrimPrefix(parts[1], base) + "\n\n" + parts[2]
}

// askAndSucceed sends a request whose answer is not in the text. The request must succeed: the status is
// 200, no command fails, and each query finds something.
func (r *runner) askAndSucceed(text string) string {
	if problem := r.ask(text); problem != "" {
		return problem
	}
	answer := string(r.body)
	if r.status != 200 || strings.Contains(answer, `"sourceCommandIndex"`) || strings.Contains(answer, `[[]]`) {
		return "the request does not succeed"
	}
	return ""
}

// expectAnswer compares the last answer with a text: status and headers and, after an empty line, the whole
// body. If the text has no body, the body may be anything.
func (r *runner) expectAnswer(text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	if problem := r.expectResponse(r.forms(head)); problem != "" || body == "" {
		return problem
	}
	if media := r.header.Get("Content-Type"); !strings.HasPrefix(media, "application/json") {
		return r.step("body text", r.forms(body))
	}
	if problem := r.expectJSON(r.forms(body), false); problem != "" {
		return problem
	}
	got, err := decode(r.body)
	if err != nil {
		return err.Error()
	}
	return r.learn(body, got)
}

// expectDeliveries compares the deliveries since the previous block of deliveries with a text.
func (r *runner) expectDeliveries(text string) string {
	want, err := decode([]byte(text))
	if err != nil {
		return err.Error()
	}
	list, _ := want.([]any)
	got := r.receiver.wait(r.shown+len(list), &r.receiver.deliveries)
	problem := match("$", list, got[min(r.shown, len(got)):], true)
	r.shown += len(list)
	return problem
}

// placeholder matches a name in angle brackets, together with the character before it.
var placeholder = regexp.MustCompile(`(.?)<([a-z][a-zA-Z0-9]*)>`)

// known replaces each <name> that already has a value by this value.
func (r *runner) known(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		if value, ok := r.vars[m[2]]; ok {
			return m[1] + value
		}
		return found
	})
}

// forms is like known. It also replaces each <name> without a value: after a colon by <id>, which matches a
// number, and elsewhere by <any>.
func (r *runner) forms(text string) string {
	return placeholder.ReplaceAllStringFunc(r.known(text), func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		switch {
		case reserved[m[2]]:
			return found
		case m[1] == ":":
			return ":<id>"
		}
		return m[1] + "<any>"
	})
}

// reserved are the placeholders that have the same meaning everywhere, and therefore are not names.
var reserved = map[string]bool{"id": true, "uuid": true, "time": true, "any": true, "number": true, "rest": true, "absent": true}

// namedOnce returns the names that occur only once in the examples. They are probably misspelled.
func namedOnce(steps []step) []string {
	count := map[string]int{}
	for _, s := range steps {
		for _, m := range placeholder.FindAllStringSubmatch(s.text, -1) {
			if !reserved[m[2]] {
				count[m[2]]++
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(count)), func(name string) bool { return count[name] > 1 })
}

// learn gives a value from got to each <name> in text that has no value yet.
func (r *runner) learn(text string, got any) string {
	want, err := decode([]byte(text))
	if err != nil {
		return err.Error()
	}
	r.learnFrom(want, got)
	return ""
}

func (r *runner) learnFrom(want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for key := range w {
			r.learnFrom(w[key], g[key])
		}
	case []any:
		g, _ := got.([]any)
		for i := range min(len(w), len(g)) {
			r.learnFrom(w[i], g[i])
		}
	case string:
		r.learnText(w, got)
	}
}

// learnText gives values to the names in one string.
func (r *runner) learnText(want string, got any) {
	value, ok := got.(string)
	if !ok {
		value = show(got)
	}
	form, names := "", []string{}
	at := 0
	want = r.known(want)
	for _, m := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		name := want[m[4]:m[5]]
		form += regexp.QuoteMeta(want[at:m[3]])
		at = m[1]
		if reserved[name] {
			form += ".*"
			continue
		}
		form += "([^:]+)"
		names = append(names, name)
	}
	if len(names) == 0 {
		return
	}
	parts := regexp.MustCompile("^" + form + regexp.QuoteMeta(want[at:]) + "$").FindStringSubmatch(value)
	for i := range min(len(names), max(0, len(parts)-1)) {
		r.vars[names[i]] = parts[i+1]
	}
}

// soon repeats the last request until expect returns "", but at most for eventTimeout. It returns the last
// result of expect.
func (r *runner) soon(expect func() string) string {
	end := time.Now().Add(eventTimeout)
	for {
		problem := expect()
		if problem == "" || time.Now().After(end) {
			return problem
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.t.Context().Done():
		}
		if failed := r.ask(r.last); failed != "" {
			return failed
		}
	}
}
