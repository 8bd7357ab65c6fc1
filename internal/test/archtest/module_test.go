package archtest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestModule compares go.mod with the imports: every imported module must be a direct requirement, and
// every direct requirement must be imported. go mod tidy cannot check this without a registry that has all
// test dependencies of all dependencies.
func TestModule(t *testing.T) {
	direct, indirect := requirements(t)
	used := map[string]bool{}
	files(t, func(file string) {
		if !strings.HasSuffix(file, ".go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Errorf("parse %s: %v", file, err)
			return
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(imp, "/")
			if err != nil || !strings.Contains(first, ".") || strings.HasPrefix(imp, module) {
				continue
			}
			switch at := longest(direct, imp); {
			case at != "":
				used[at] = true
			case longest(indirect, imp) != "":
				t.Errorf("%s imports %s, which go.mod calls indirect", file, imp)
			default:
				t.Errorf("%s imports %s, which go.mod does not require", file, imp)
			}
		}
	})
	for path := range direct {
		if !used[path] {
			t.Errorf("go.mod requires %s, which nothing imports", path)
		}
	}
}

// requirements reads the module paths of go.mod.
func requirements(t *testing.T) (direct, indirect map[string]bool) {
	t.Helper()
	direct, indirect = map[string]bool{}, map[string]bool{}
	inside := false
	for line := range strings.Lines(string(read(t, "go.mod"))) {
		line = strings.TrimSpace(line)
		switch line {
		case "require (":
			inside = true
			continue
		case ")":
			inside = false
		}
		one, single := strings.CutPrefix(line, "require ")
		if !inside && !single {
			continue
		}
		path, rest, _ := strings.Cut(one, " ")
		if strings.HasSuffix(rest, "// indirect") {
			indirect[path] = true
		} else {
			direct[path] = true
		}
	}
	return direct, indirect
}

// longest returns the longest module path that the imported path is in, or "" if there is none.
func longest(modules map[string]bool, imp string) string {
	best := ""
	for path := range modules {
		if (imp == path || strings.HasPrefix(imp, path+"/")) && len(path) > len(best) {
			best = path
		}
	}
	return best
}
