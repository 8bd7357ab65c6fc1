package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the repository as seen from this package.
const root = "../../.."

const module = "github.com/alds-dev/alds/"

// floors is the import rule: a package may import only packages on a lower
// floor. Packages on the same floor do not know each other.
var floors = [][]string{
	0: {"internal/fault", "internal/folding", "internal/release", "internal/tracing", "internal/tlsmode", "internal/embedded"},
	1: {"internal/oid", "internal/config", "internal/secret", "internal/doc", "internal/meta", "internal/memory", "internal/admission", "internal/inbound", "internal/importer", "internal/chart", "internal/ui", "sql"},
	2: {"internal/token", "internal/value", "internal/db", "internal/localizer"},
	3: {"internal/query", "internal/change", "internal/catalog", "internal/check", "internal/dump", "internal/lease", "internal/trail", "internal/blob", "internal/processes", "internal/history"},
	4: {"internal/sqlgen", "internal/auth", "internal/encode", "internal/describe"},
	5: {"internal/find", "internal/memfilter", "internal/delivery", "internal/requests", "internal/localization", "internal/system"},
	6: {"internal/roles", "internal/asset", "internal/event", "internal/activity"},
	7: {
		"internal/attachment", "internal/bulk", "internal/feed", "internal/rest", "internal/tags", "internal/webhook",
		"internal/pages/account", "internal/pages/assets", "internal/pages/console", "internal/pages/members", "internal/pages/models",
		"internal/pages/projects", "internal/pages/sample", "internal/pages/system", "internal/pages/webhooks",
	},
	8: {"internal/httpapi", "internal/jobs", "internal/admin", "internal/pages"},
	9: {"internal/app"},
	10: {
		"cmd/api", "cmd/worker", "cmd/scheduler", "cmd/standalone", "bench/receiver", "bench/storage",
		"bench/rig", "dashboards", "examples/client", "internal/testdb",
	},
	11: {"internal/testproc", "internal/test/testseed"},
	12: {
		"bench/load", "bench/hooks", "bench/read", "bench/pages", "bench/peers", "bench/shapes", "bench/words", "bench/write", "bench/overload", "bench/retention", "bench/ceiling", "bench/versions", "bench/large",
		"internal/testall",
		"internal/test/archtest", "internal/test/attack", "internal/test/clienttest", "internal/test/costtest", "internal/test/deploytest", "internal/test/difftest",
		"internal/test/doctest", "internal/test/faulttest", "internal/test/hiddentest", "internal/test/modeltest", "internal/test/pagetest",
		"internal/test/rightstest", "internal/test/spectest", "internal/test/torture", "internal/test/watchtest",
	},
}

// appFloor is the highest floor of the map in docs/architecture.md.
const appFloor = 9

// keepers names the only packages that may import a library, or a package of
// ours that must not spread. A name that ends in a slash covers all below it.
var keepers = map[string][]string{
	"github.com/gofiber/":                   {"internal/httpapi", "bench/read"},
	"github.com/valyala/":                   {"internal/httpapi"},
	"github.com/hibiken/asynq":              {"internal/jobs", "bench/hooks"},
	"github.com/redis/":                     {"internal/jobs", "bench/hooks"},
	"github.com/alicebob/":                  {"internal/embedded"},
	"gorm.io/":                              {"internal/db", "internal/auth", "internal/requests", "internal/webhook", "internal/delivery"},
	"github.com/go-sql-driver/":             {"internal/db", "internal/testdb"},
	"modernc.org/":                          {"internal/db"},
	"github.com/minio/":                     {"internal/blob"},
	"github.com/alecthomas/":                {"internal/app"},
	"golang.org/x/term":                     {"internal/app"},
	"github.com/johannesboyne/":             {"internal/blob"},
	"github.com/prometheus/":                {"internal/admin", "internal/app"},
	"go.yaml.in/":                           {"internal/meta", "internal/doc", "internal/importer", "internal/test/rightstest"},
	"golang.org/x/crypto/argon2":            {"internal/auth", "internal/secret"},
	"github.com/go-logr/":                   {"internal/tracing"},
	"go.opentelemetry.io/":                  {"internal/tracing"},
	"golang.org/x/text/":                    {"internal/folding", "internal/localizer"},
	module + "internal/config":              {"internal/app"},
	module + "internal/embedded":            {"cmd/standalone", "internal/testproc"}, // the other commands do not link it
	module + "internal/testdb":              {"internal/testall", "internal/testproc"},
	module + "sql":                          {"internal/db", "internal/testdb"},
	"github.com/microcosm-cc/":              {"internal/ui"},
	"github.com/standard-webhooks/":         {"internal/webhook", "internal/test/spectest"},
	"github.com/chromedp/":                  {}, // tests alone
	"github.com/stretchr/":                  {},
	"github.com/golang/mock":                {},
	"go.uber.org/mock":                      {},
	"github.com/prometheus/client_golang/x": {},
}

// metricsFile is where any package may know the metrics library.
const metricsFile = "metrics.go"

func TestImports(t *testing.T) {
	floor := map[string]int{}
	for n, pkgs := range floors {
		for _, p := range pkgs {
			floor[p] = n
		}
	}
	sources(t, func(file string, parsed *ast.File) {
		pkg := path.Dir(file)
		at, known := floor[pkg]
		if !known {
			t.Errorf("%s is on no floor: add it to floors", pkg)
			return
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: import %s: %v", file, spec.Path.Value, err)
				continue
			}
			checkFloor(t, floor, pkg, at, imp)
			checkKeeper(t, file, pkg, imp)
		}
	})
}

func checkFloor(t *testing.T, floor map[string]int, pkg string, at int, imp string) {
	t.Helper()
	dep, ours := strings.CutPrefix(imp, module)
	if !ours {
		return
	}
	under, known := floor[dep]
	if !known {
		t.Errorf("%s imports %s, which is on no floor", pkg, dep)
	} else if under >= at {
		t.Errorf("%s (floor %d) must not import %s (floor %d)", pkg, at, dep, under)
	}
}

func checkKeeper(t *testing.T, file, pkg, imp string) {
	t.Helper()
	for lib, may := range keepers {
		if !covers(lib, imp) || slices.Contains(may, pkg) {
			continue
		}
		if strings.HasPrefix(lib, "github.com/prometheus/") && path.Base(file) == metricsFile {
			continue
		}
		t.Errorf("%s must not import %s: only %v may", file, imp, may)
	}
}

// covers reports whether the keeper's name stands for the import.
func covers(lib, imp string) bool {
	if strings.HasSuffix(lib, "/") {
		return strings.HasPrefix(imp, lib)
	}
	return imp == lib || strings.HasPrefix(imp, lib+"/")
}

// TestExamplesStandAlone: what integrators copy needs the standard library and
// nothing else.
func TestExamplesStandAlone(t *testing.T) {
	seen := 0
	sources(t, func(file string, parsed *ast.File) {
		if !strings.HasPrefix(file, "examples/") {
			return
		}
		seen++
		for _, spec := range parsed.Imports {
			if first, _, _ := strings.Cut(spec.Path.Value, "/"); strings.Contains(first, ".") {
				t.Errorf("%s imports %s, which is not in the standard library", file, spec.Path.Value)
			}
		}
	})
	if seen == 0 {
		t.Error("there is no example in Go")
	}
}

// mapRow is a row of the map in docs/architecture.md: the floor, empty if it is
// that of the row before, and the package.
var mapRow = regexp.MustCompile("^\\| ([0-9]*) ?\\| `([a-z/]+)` \\|")

// TestMap: the map in docs/architecture.md has each package of the floors below
// the commands once, on its floor, and no other; no package is on two floors.
func TestMap(t *testing.T) {
	want := map[string]int{}
	for n, pkgs := range floors {
		for _, p := range pkgs {
			if other, doubled := want[p]; doubled {
				t.Errorf("%s is on floors %d and %d", p, other, n)
			}
			want[p] = n
		}
	}
	floor, rows := 0, map[string]bool{}
	for line := range strings.Lines(string(read(t, "docs/architecture.md"))) {
		m := mapRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] != "" {
			floor, _ = strconv.Atoi(m[1])
		}
		pkg := "internal/" + m[2]
		if m[2] == "sql" {
			pkg = m[2]
		}
		if n, known := want[pkg]; !known || n != floor {
			t.Errorf("docs/architecture.md has %s on floor %d, archtest on %d (known: %t)", pkg, floor, n, known)
		}
		if rows[pkg] {
			t.Errorf("docs/architecture.md has %s twice", pkg)
		}
		rows[pkg] = true
	}
	for n, pkgs := range floors[:appFloor+1] {
		for _, p := range pkgs {
			if !rows[p] {
				t.Errorf("docs/architecture.md lacks %s on floor %d", p, n)
			}
		}
	}
}

// TestFloorsExist fails when a package named here does not exist.
func TestFloorsExist(t *testing.T) {
	exists := map[string]bool{}
	sources(t, func(file string, _ *ast.File) { exists[path.Dir(file)] = true })
	for n, pkgs := range floors {
		for _, p := range pkgs {
			if !exists[p] {
				t.Errorf("floor %d names %s, which has no sources", n, p)
			}
		}
	}
}

// TestPackageDocs: every package says what it is for, in doc.go; a command
// says it in main.go.
func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	sources(t, func(file string, parsed *ast.File) {
		pkg := path.Dir(file)
		documented[pkg] = documented[pkg] || false
		if parsed.Doc == nil {
			return
		}
		want, in := "Package "+parsed.Name.Name+" ", "doc.go"
		if parsed.Name.Name == "main" {
			want, in = "Command "+path.Base(pkg)+" ", "main.go"
		}
		if path.Base(file) != in {
			t.Errorf("%s carries the package's comment: it belongs in %s", file, in)
		}
		if !strings.HasPrefix(parsed.Doc.Text(), want) {
			t.Errorf("%s: the package's comment starts with %q", file, want)
		}
		documented[pkg] = true
	})
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s says nowhere what it is for", pkg)
		}
	}
}

// sources calls visit for every Go source of the repository that is not a
// test, with its path below the root, slashes forward.
func sources(t *testing.T, visit func(file string, parsed *ast.File)) {
	t.Helper()
	files(t, func(file string) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("parse %s: %v", file, err)
			return
		}
		visit(file, parsed)
	})
}

// files calls visit for every file of the repository, version control, local data
// and other modules left out.
func files(t *testing.T, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && !d.IsDir() {
			return nil // of a worktree: it says where the repository lies
		}
		if d.IsDir() {
			if base := d.Name(); base == ".git" || base == "alds-data" || base == "bin" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
