package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the repository, relative to this package.
const root = "../../.."

const module = "github.com/alds-dev/alds/"

// may is the import rule. The key is a folder, and the value lists the other folders whose packages it may
// import. Packages of the same folder may import each other. For a package outside internal, the folder is
// the first element of the package's path.
var may = map[string][]string{
	"base":     {},
	"limits":   {"base"},
	"store":    {"limits", "base", "sql"},
	"model":    {"store", "base"},
	"importer": {"base"},
	"mcp":      {"base"},
	"access":   {"model", "store", "limits", "base"},
	"operate":  {"access", "model", "store", "base"},
	"query":    {"access", "model", "store", "limits", "base"},
	"write":    {"query", "access", "model", "store", "limits", "base"},
	"events":   {"write", "query", "access", "model", "store", "limits", "base"},
	"jobs":     {"events", "write", "base"},
	"web":      {"model", "base"},
	"httpapi":  {"events", "write", "query", "operate", "access", "model", "store", "limits", "base"},
	"app": {
		"httpapi", "web", "mcp", "jobs", "events", "write", "query", "operate", "access", "importer", "model", "store", "limits", "base",
	},
	"test": {"app", "access", "model", "store", "base", "sql"},
	"sql":  {"base"},
}

// clients are the folders of commands, measuring programs, dashboards and examples. Packages in these
// folders may import packages of every folder that is not in this list.
var clients = []string{"cmd", "bench", "dashboards", "examples"}

// keepers limits who may import a package. The key is a library, or an internal package with few users. The
// value lists the only packages that may import it. A key that ends in a slash stands for all packages
// below it.
var keepers = map[string][]string{
	"github.com/gofiber/":                   {"internal/httpapi", "bench/read"},
	"github.com/valyala/":                   {"internal/httpapi"},
	"github.com/hibiken/asynq":              {"internal/jobs", "bench/hooks"},
	"github.com/redis/":                     {"internal/jobs", "bench/hooks"},
	"github.com/alicebob/":                  {"internal/app/embedded"},
	"gorm.io/":                              {"internal/store/db", "internal/store/sqlerror", "internal/access/auth", "internal/write/requests", "internal/events/webhook", "internal/events/delivery"},
	"github.com/go-sql-driver/":             {"internal/store/connection", "internal/store/sqlerror", "internal/test/testdb"},
	"modernc.org/":                          {"internal/store/connection", "internal/store/sqlerror"},
	"github.com/modelcontextprotocol/":      {"internal/mcp", "internal/test/clienttest", "examples/agent"},
	"github.com/minio/":                     {"internal/store/blob"},
	"github.com/alecthomas/":                {"internal/app/command"},
	"golang.org/x/term":                     {"internal/app/command"},
	"github.com/johannesboyne/":             {"internal/store/blob"},
	"github.com/prometheus/":                {"internal/operate/admin", "internal/app"},
	"go.yaml.in/":                           {"internal/model/meta", "internal/base/document", "internal/importer", "internal/test/rightstest"},
	"golang.org/x/crypto/argon2":            {"internal/access/auth", "internal/access/secret"},
	"github.com/go-logr/":                   {"internal/base/tracing"},
	"go.opentelemetry.io/":                  {"internal/base/tracing"},
	"golang.org/x/text/":                    {"internal/base/folding", "internal/model/localizer"},
	module + "internal/app/command":         {"cmd/api", "cmd/scheduler", "cmd/standalone", "cmd/worker"},
	module + "internal/app/config":          {"internal/app", "internal/app/command"},
	module + "internal/app/embedded":        {"cmd/standalone", "internal/test/testproc"}, // only standalone links it
	module + "internal/test/testdb":         {"internal/test/testall", "internal/test/testnpm", "internal/test/testproc"},
	module + "sql":                          {"internal/store/migrate", "internal/test/testdb"},
	"github.com/microcosm-cc/":              {"internal/web/ui", "internal/mcp"},
	"github.com/standard-webhooks/":         {"internal/events/webhook", "internal/test/spectest"},
	"github.com/chromedp/":                  {}, // only tests import it
	"github.com/stretchr/":                  {},
	"github.com/golang/mock":                {},
	"go.uber.org/mock":                      {},
	"github.com/prometheus/client_golang/x": {},
}

// metricsFile is the file in which every package may import the metrics library.
const metricsFile = "metrics.go"

func TestImports(t *testing.T) {
	sources(t, func(file string, parsed *ast.File) {
		pkg := path.Dir(file)
		folder := folderOf(pkg)
		if _, known := may[folder]; !known && !slices.Contains(clients, folder) {
			t.Errorf("%s is in no folder of the rule: add it to may", pkg)
			return
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: import %s: %v", file, spec.Path.Value, err)
				continue
			}
			checkFolder(t, pkg, imp)
			checkKeeper(t, file, pkg, imp)
		}
	})
}

// folderOf returns the folder of a package: the first path element below internal, or the first path
// element of a package outside internal.
func folderOf(pkg string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(pkg, "internal/"), "/")
	return folder
}

func checkFolder(t *testing.T, pkg, imp string) {
	t.Helper()
	dep, ours := strings.CutPrefix(imp, module)
	if !ours {
		return
	}
	from, to := folderOf(pkg), folderOf(dep)
	if from == to || slices.Contains(clients, from) && !slices.Contains(clients, to) {
		return
	}
	if !slices.Contains(may[from], to) {
		t.Errorf("%s must not import %s: packages of %s import those of %v", pkg, dep, from, may[from])
	}
}

// TestImportsGoDown fails if the rule contains a cycle.
func TestImportsGoDown(t *testing.T) {
	done, open := map[string]bool{}, map[string]bool{}
	var visit func(folder string)
	visit = func(folder string) {
		if open[folder] {
			t.Fatalf("the rule lets %s import itself by way of others", folder)
		}
		if done[folder] {
			return
		}
		open[folder] = true
		for _, below := range may[folder] {
			visit(below)
		}
		delete(open, folder)
		done[folder] = true
	}
	for folder := range may {
		visit(folder)
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

// covers reports whether lib, a key of keepers, stands for the imported package imp.
func covers(lib, imp string) bool {
	if strings.HasSuffix(lib, "/") {
		return strings.HasPrefix(imp, lib)
	}
	return imp == lib || strings.HasPrefix(imp, lib+"/")
}

// TestExamplesStandAlone checks that examples import only the standard library, because integrators copy
// them. The example of an agent also imports the official client for agents.
func TestExamplesStandAlone(t *testing.T) {
	seen := 0
	sources(t, func(file string, parsed *ast.File) {
		if !strings.HasPrefix(file, "examples/") {
			return
		}
		seen++
		for _, spec := range parsed.Imports {
			ofAgent := strings.HasPrefix(file, "examples/agent/") && strings.Contains(spec.Path.Value, "modelcontextprotocol")
			if first, _, _ := strings.Cut(spec.Path.Value, "/"); strings.Contains(first, ".") && !ofAgent {
				t.Errorf("%s imports %s, which is not in the standard library", file, spec.Path.Value)
			}
		}
	})
	if seen == 0 {
		t.Error("there is no example in Go")
	}
}

// mapRow matches a row of the map in docs/architecture.md: a folder and its packages.
var mapRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.*?) \\|$")

// mapped matches a package in a row of the map.
var mapped = regexp.MustCompile("`([a-z/]+)`:")

// TestMap checks that the map in docs/architecture.md has exactly the folders and packages of internal, and
// that there are at most sixteen folders.
func TestMap(t *testing.T) {
	want, got := map[string]bool{}, map[string]bool{}
	sources(t, func(file string, _ *ast.File) {
		pkg := path.Dir(file)
		inFolder, ours := strings.CutPrefix(pkg, "internal/")
		if ours && folderOf(pkg) != "test" {
			want[inFolder] = true
		}
	})
	theMap, _, _ := strings.Cut(string(read(t, "docs/architecture.md")), "Above `internal`")
	folders := map[string]bool{}
	for _, row := range mapRow.FindAllStringSubmatch(theMap, -1) {
		got[row[1]], folders[row[1]] = true, true
		for _, m := range mapped.FindAllStringSubmatch(row[2], -1) {
			got[row[1]+"/"+m[1]] = true
		}
	}
	delete(got, "test")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("docs/architecture.md differs from the packages (-packages +document):\n%s", diff)
	}
	if len(folders) > 16 {
		t.Errorf("internal has %d folders", len(folders))
	}
}

// TestPackageDocs checks that every package has a package comment in doc.go, and every command in main.go.
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

// sources calls visit for every Go file of the repository that is not a test. file is relative to the root,
// with forward slashes.
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

// files calls visit for every file of the repository, except version control, local data and other modules.
func files(t *testing.T, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && !d.IsDir() {
			return nil // in a worktree, .git is a file with the path of the repository
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
