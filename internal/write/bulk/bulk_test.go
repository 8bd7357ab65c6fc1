package bulk_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

var update = flag.Bool("update", false, "rewrite the responses of the cases")

func TestMain(m *testing.M) { testdb.Main(m) }

// TestCases runs testdata/*.txtar on every database. A case is a sentence and pairs of files:
// "request" (or "request yaml", "preview") and "response". Generated aliases and times are
// normalized. Ids are not normalized, because each case has a new database.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for i, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				if i > 0 {
					d = another(t, d)
				}
				runCase(t, d, file)
			})
		}
	})
}

func another(t *testing.T, d *db.DB) *db.DB {
	if d.Dialect.Name == "sqlite" {
		return testdb.SQLite(t)
	}
	return testdb.MySQL(t)
}

func engine(t testing.TB, d *db.DB) *bulk.Engine {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	return bulk.New(asset.New(d, model, nil, nil), find.New(d, model))
}

func runCase(t *testing.T, d *db.DB, file string) {
	e := engine(t, d)
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		in, want := a.Files[i], &a.Files[i+1]
		got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: in.Data, YAML: in.Name == "request yaml", Preview: in.Name == "preview"})
		if err != nil {
			got = []byte(fault.KindOf(err).String() + ": " + fault.Public(err))
		}
		text := normal(got)
		if *update {
			want.Data = []byte(text)
			continue
		}
		if diff := cmp.Diff(string(want.Data), text); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i/2+1, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	guids = regexp.MustCompile(`@[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`"requestId":"[0-9a-f-]{36}","createdDate":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z","completedDate":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z","duration":"\d\d:\d\d:\d\d\.\d{7}","durationSeconds":\d+\.\d{7},"complete":true,"processing":false,`)
)

// normal numbers the generated aliases in order. It removes the ids and times at the beginning
// of a response if their form is correct, and breaks the response into lines.
func normal(b []byte) string {
	seen := map[string]string{}
	text := guids.ReplaceAllStringFunc(string(b), func(s string) string {
		if seen[s] == "" {
			seen[s] = "@guid" + strconv.Itoa(len(seen)+1)
		}
		return seen[s]
	})
	text = times.ReplaceAllString(text, "")
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", " ") != nil {
		return text + "\n"
	}
	return compact(out.String()) + "\n"
}

var short = regexp.MustCompile(`[\[{]\n[^\[\]{}]*[\]}]`)

// compact writes the innermost lists and objects on one line each.
func compact(s string) string {
	for range 2 {
		s = short.ReplaceAllStringFunc(s, func(m string) string {
			return strings.Join(strings.Fields(strings.ReplaceAll(m, "\n", " ")), " ")
		})
	}
	return s
}
