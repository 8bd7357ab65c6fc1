package spectest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/alds-dev/alds/internal/test/testseed"
)

// badTable is a file testdata/*/*.bad with requests that must be refused, one in each line. It begins like
// a case. The name of a section says how its lines are sent:
//
//	-- filter of Story --      a filter, in query.v1, api/asset (query and update) and rest-1
//	-- where of Story --       the entry of a where map, in query.v1 and api/asset
//	-- select of Story --      a token, in query.v1, api/asset and rest-1
//	-- sort of Story --        a term, in query.v1, api/asset and rest-1
//	-- query --                a whole query, in query.v1 and api/asset
//	-- request --              a body of query.v1
//	-- command --              a command of api/asset
//	-- get --                  a path with parameters, not encoded
//	-- payload --              a body of api/asset that is refused as a whole
//	-- payload yaml --         the same in YAML
//	-- xml --                  a body of rest-1 that creates a Story
//	-- yaml --                 a query in YAML, with \n between its lines
//
// # A line has the form
//
// what is wrong with the request | what is sent | the expected message
//
// In a get section, the expected status comes before the message. A "^" in the text to send is not sent. It
// marks the position that the answer must name. Without a "^", the answer must not name a position. In a
// message, "{}" stands for the text that is sent, {{3*x}} for xxx, and {{xff}} for the byte 0xff. After all
// lines of a table, the database must have as many versions as before.
type badTable struct {
	file, spec, source string
	rows               []badRow
}

// badRow is a line of a badTable.
type badRow struct {
	how, typ      string // words of the section, for example "filter" and "Story"
	what          string
	sent, message string
	place         int // position of "^" in sent; -1: there is no "^"
	status        int
	line          int
}

// TestBad sends every line of every table to the service, on every database. With -short, each line is sent
// in only one of its forms to the service on MariaDB or MySQL.
func TestBad(t *testing.T) {
	tables := loadBad(t)
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, _ := startService(t, dialect)
			r := &runner{t: t, base: base}
			seed, all := testseed.New(t), !testing.Short() || dialect != "mysql"
			before := r.everything()
			for _, table := range tables {
				together(table.rows, func(row badRow) {
					t.Run(table.file+"/"+row.what, func(t *testing.T) {
						forms := senders[row.how]
						if !all {
							testseed.Print(t, seed)
							i := int(seed+uint64(row.line)) % len(forms)
							forms = forms[i : i+1]
						}
						for _, s := range forms {
							askBad(t, base, table, row, s)
						}
					})
				})
				if now := r.everything(); now != before {
					t.Errorf("%s.bad changed something: %s, before %s", table.file, now, before)
					before = now
				}
			}
		})
	}
}

// everything returns the number of versions in the database.
func (r *runner) everything() string {
	r.t.Helper()
	if problem := r.ask(`POST /query.v1` + "\n\n" + `{"from": "BaseAsset", "asof": "All", "page": {"size": 0}, "total": true}`); problem != "" || r.status != http.StatusOK {
		r.t.Fatalf("count the versions: %s %d %s", problem, r.status, shorten(r.body))
	}
	return r.header.Get("Alds-Result")
}

// sender is one of the forms in which a line is sent.
type sender struct {
	name    string
	request func(r badRow) (request string, place int)
	prefix  string // expected text before the message
	bulk    bool   // true: the command fails, but the status of the request is 200
}

// senders has the forms in which the lines of a section are sent. The key is the first word of the section.
var senders = map[string][]sender{
	"filter": {
		inBody("query.v1", `{"from": "%t", "filter": ["`, `"]}`),
		inCommand("api/asset", `{"from": "%t", "filter": ["`, `"]}`),
		inCommand("api/asset, update", `{"from": "%t", "update": {"Description": "x"}, "filter": ["`, `"]}`),
		inParam("where", ""),
	},
	"where": {
		inBody("query.v1", `{"from": "%t", "where": {`, `}}`),
		inCommand("api/asset", `{"from": "%t", "where": {`, `}}`),
	},
	"select": {
		inBody("query.v1", `{"from": "%t", "select": ["`, `"]}`),
		inCommand("api/asset", `{"from": "%t", "select": ["`, `"]}`),
		inParam("sel", "Invalid SEL parameter: "),
	},
	"sort": {
		inBody("query.v1", `{"from": "%t", "sort": ["`, `"]}`),
		inCommand("api/asset", `{"from": "%t", "sort": ["`, `"]}`),
		inParam("sort", "Invalid SORT parameter: "),
	},
	"query":   {inBody("query.v1", "", ""), inCommand("api/asset", "", "")},
	"request": {inBody("query.v1", "", "")},
	"command": {inCommand("api/asset", "", "")},
	"payload": {inBody("api/asset", "", "")}, "payload yaml": {inYAML("api/asset", false)},
	"xml":  {{name: "rest-1", request: inXML}},
	"get":  {{name: "rest-1", request: asGet}},
	"yaml": {inYAML("query.v1", false), inYAML("api/asset", true)},
}

// inBody returns a sender that puts the text of a line between two pieces of JSON. Between quotes, it
// escapes the text.
func inBody(name, before, after string) sender {
	return sender{name: name, request: func(r badRow) (string, int) {
		open := strings.ReplaceAll(before, "%t", r.typ)
		sent, place := r.sent, r.place
		if strings.HasPrefix(after, `"`) {
			sent = escape(r.sent)
			if place >= 0 {
				place = len(escape(r.sent[:r.place]))
			}
		}
		if place >= 0 {
			place += len(open)
		}
		return "POST /" + strings.Split(name, ",")[0] + "\n\n" + open + sent + after, place
	}}
}

func inCommand(name, before, after string) sender {
	w := inBody(name, before, after)
	w.bulk = true
	return w
}

// inYAML returns a sender that sends the text of a line as YAML on several lines.
func inYAML(name string, bulk bool) sender {
	lines := strings.NewReplacer(`\n`, "\n")
	return sender{name: name, bulk: bulk, request: func(r badRow) (string, int) {
		place := r.place
		if place >= 0 {
			place = len(lines.Replace(r.sent[:place]))
		}
		return "POST /" + name + "\nContent-Type: text/yaml\n\n" + lines.Replace(r.sent), place
	}}
}

// inXML sends the text of a line as a body in XML.
func inXML(r badRow) (string, int) {
	return "POST /rest-1.v1/Data/Story\nContent-Type: text/xml\nAccept: application/json\n\n" + r.sent, r.place
}

// inParam returns a sender that sends the text of a line as a URL parameter. The path is that of the type.
// The expected position counts from the beginning of the parameter's value.
func inParam(param, prefix string) sender {
	return sender{name: "rest-1", prefix: prefix, request: func(r badRow) (string, int) {
		return "GET /rest-1.v1/Data/" + r.typ + "?" + param + "=" + url.QueryEscape(r.sent), r.place
	}}
}

// asGet sends the text of a line as a path, and encodes the values of its parameters. The expected position
// counts from the beginning of the parameter's value or of the path segment.
func asGet(r badRow) (string, int) {
	path, params, _ := strings.Cut(r.sent, "?")
	at, place := len(path)+1, r.place
	if place >= 0 && place <= len(path) {
		place -= strings.LastIndexByte(path[:place], '/') + 1
	}
	for i, pair := range strings.Split(params, "&") {
		name, value, _ := strings.Cut(pair, "=")
		from := at + len(name) + 1
		if r.place >= from && r.place <= from+len(value) {
			place = r.place - from
		}
		at = from + len(value) + 1
		sign := "&"
		if i == 0 {
			sign = "?"
		}
		if params != "" {
			path += sign + name + "=" + url.QueryEscape(value)
		}
	}
	return "GET " + path, place
}

func escape(s string) string {
	b, _ := json.Marshal(s) // encoding a string never fails
	s = string(b[1 : len(b)-1])
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(s)
}

// askBad sends one line in one form, and checks the answer.
func askBad(t *testing.T, base string, table badTable, row badRow, w sender) {
	t.Helper()
	r := &runner{t: t, base: base}
	text, place := w.request(row)
	problem := r.ask(text)
	if problem == "" {
		problem = r.isRefused(row, w, text, place)
	}
	if problem != "" {
		t.Errorf("%s.bad:%d: %s, on %s: %s\nsent:   %s\nanswer: %d %s", table.file, row.line, row.what, w.name, problem, shorten([]byte(text)), r.status, shorten(r.body))
	}
}

func (r *runner) isRefused(row badRow, w sender, sent string, place int) string {
	got, err := decode(r.body)
	if err != nil {
		return "the answer is not JSON"
	}
	message := w.prefix + strings.ReplaceAll(row.message, "{}", row.sent)
	status, at := row.status, []string{"exceptions", "0"}
	if w.bulk {
		status, at = http.StatusOK, []string{"commandFailures", "commands", "0", "error"}
	}
	if r.status != status {
		return fmt.Sprintf("want status %d", status)
	}
	if m, err := follow(got, append(at, "message")); err != nil || m != message {
		return fmt.Sprintf("want the message %q, got %q", message, m)
	}
	if !w.bulk {
		if place < 0 {
			return r.expectJSON(fmt.Sprintf(`{"error": %s, "exceptions": [{"position": "<absent>"}]}`, quote(message)), true)
		}
		return r.expectJSON(fmt.Sprintf(`{"error": %s, "exceptions": [{"position": %d}]}`, quote(message), place), true)
	}
	if problem := r.expectJSON(fmt.Sprintf(`{"diagnostics": %s}`, diagnostics(sent, place)), true); problem != "" {
		return problem
	}
	return r.expectJSON(`{"assetsCreated": {"oidTokens": [], "count": 0}, "assetsModified": {"oidTokens": [], "count": 0},
		"assetsOperatedOn": {"oidTokens": [], "count": 0}, "commandFailures": {"count": 1, "commands": [{"error": {"sourceCommandIndex": 0}}]},
		"queryResult": {"results": [], "count": -1}}`, true)
}

// diagnostics returns the diagnostics that the answer to a request with one failure must have.
func diagnostics(sent string, place int) string {
	if place < 0 {
		return quote(absent)
	}
	_, body, _ := strings.Cut(sent, "\n\n")
	lines := strings.Split(body[:place], "\n")
	column := utf8.RuneCountInString(lines[len(lines)-1]) + 1
	return fmt.Sprintf(`[{"failure": 0, "position": %d, "line": %d, "column": %d}]`, place, len(lines), column)
}

func quote(s string) string { return `"` + escape(s) + `"` }

// loadBad reads all tables, sorted by file name.
func loadBad(t *testing.T) []badTable {
	t.Helper()
	names, err := filepath.Glob("testdata/*/*.bad")
	if err != nil {
		t.Fatal(err)
	}
	var tables []badTable
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := parseBad(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		table.file = strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(name), "testdata/"), ".bad")
		tables = append(tables, table)
	}
	return tables
}

func parseBad(text []byte) (badTable, error) {
	archive := txtar.Parse(text)
	var table badTable
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "spec:"); ok {
			table.spec = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(line, "source:"); ok {
			table.source = strings.TrimSpace(v)
		}
	}
	if table.spec == "" || table.source == "" {
		return table, fmt.Errorf("a table opens with a sentence, spec: and source:")
	}
	at := strings.Count(string(archive.Comment), "\n") + 1
	for _, f := range archive.Files {
		how, typ, _ := strings.Cut(f.Name, " of ")
		if senders[how] == nil {
			return table, fmt.Errorf("line %d: nothing is sent as %q", at, f.Name)
		}
		for line := range strings.Lines(string(f.Data)) {
			at++
			if strings.TrimSpace(line) == "" {
				continue
			}
			row, err := parseBadRow(how, line)
			if err != nil {
				return table, fmt.Errorf("line %d: %w", at, err)
			}
			row.typ, row.line = typ, at
			table.rows = append(table.rows, row)
		}
		at++
	}
	return table, nil
}

var repeated = regexp.MustCompile(`\{\{(\d+)\*(.*?)\}\}`)

func parseBadRow(how, line string) (badRow, error) {
	cells := strings.Split(strings.TrimSpace(line), " | ")
	row := badRow{how: how, status: http.StatusBadRequest}
	if how == "get" && len(cells) == 4 {
		status, err := strconv.Atoi(cells[2])
		if err != nil {
			return row, err
		}
		row.status = status
		cells = append(cells[:2], cells[3])
	}
	if len(cells) != 3 {
		return row, fmt.Errorf("%d cells: %s", len(cells), line)
	}
	for i := range cells {
		cells[i] = repeated.ReplaceAllStringFunc(strings.TrimSpace(cells[i]), func(s string) string {
			m := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[1]) // the expression allows only digits here
			return strings.Repeat(m[2], n)
		})
		cells[i] = strings.ReplaceAll(cells[i], "{{xff}}", "\xff")
	}
	row.what, row.sent, row.message = cells[0], cells[1], strings.ReplaceAll(cells[2], `\r\n`, "\r\n")
	row.place = strings.Index(row.sent, "^")
	if row.place >= 0 {
		row.sent = row.sent[:row.place] + row.sent[row.place+1:]
	}
	return row, nil
}
