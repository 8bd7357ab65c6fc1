package archtest

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logged identifies a message of the log.
type logged struct {
	component, level, message string
}

// components maps the beginning of a file's path to the component of its log lines, where that differs from
// the name of the package.
var components = map[string]string{
	"internal/app/":              "",
	"internal/app/traces.go":     "tracing",
	"internal/events/delivery/":  "webhook",
	"internal/limits/inbound/":   "httpapi",
	"internal/store/connection/": "db",
	"internal/store/migrate/":    "db",
	"internal/jobs/periodic.go":  "scheduler",
	"internal/web/ui/":           "pages",
}

// ofHandler are the fields that the log handler adds to every line.
var ofHandler = []string{"time", "level", "msg", "component"}

// logRow matches a row of the table of messages in docs/logs.md, and fieldRow a row of the table of fields.
// backtick matches a name in backticks in a row.
var (
	logRow   = regexp.MustCompile(`^\| ([a-z]*) \| (info|warn|error) \| ([^|]+) \| ([^|]*) \| [^|]+ \|$`)
	fieldRow = regexp.MustCompile("^\\| `([a-z_]+)` \\| [^|]+ \\|$")
	backtick = regexp.MustCompile("`([a-z_]+)`")
)

// TestLogs checks that docs/logs.md has exactly the messages that are logged at info and above, with their
// fields. It also checks that the document describes each field of the log.
func TestLogs(t *testing.T) {
	messages, fields := sourceLogs(t)
	for _, name := range ofHandler {
		fields[name] = true
	}
	listed := map[logged]string{}
	for line := range strings.Lines(string(read(t, "docs/logs.md"))) {
		line = strings.TrimSpace(line)
		if row := fieldRow.FindStringSubmatch(line); row != nil {
			if !fields[row[1]] {
				t.Errorf("docs/logs.md has the field %s, which nothing logs", row[1])
			}
			delete(fields, row[1])
		}
		if row := logRow.FindStringSubmatch(line); row != nil {
			var names []string
			for _, name := range backtick.FindAllStringSubmatch(row[4], -1) {
				names = append(names, name[1])
			}
			slices.Sort(names)
			listed[logged{row[1], row[2], row[3]}] = strings.Join(names, " ")
		}
	}
	for name := range fields {
		t.Errorf("docs/logs.md lacks the field %s", name)
	}
	for m, names := range messages {
		want := strings.Join(slices.Sorted(maps.Keys(names)), " ")
		if got, ok := listed[m]; !ok {
			t.Errorf("docs/logs.md lacks | %s | %s | %s | with %s", m.component, m.level, m.message, want)
		} else if got != want {
			t.Errorf("docs/logs.md has | %s | %s | %s | with %s, the sources with %s", m.component, m.level, m.message, got, want)
		}
		delete(listed, m)
	}
	for m := range listed {
		t.Errorf("docs/logs.md has | %s | %s | %s |, which nothing logs", m.component, m.level, m.message)
	}
}

// sourceLogs reads the logger calls in the sources. It returns the messages at info and above with the
// names of their fields, and the names of the fields at all levels.
func sourceLogs(t *testing.T) (messages map[logged]map[string]bool, fields map[string]bool) {
	t.Helper()
	messages, fields = map[logged]map[string]bool{}, map[string]bool{}
	sources(t, func(file string, parsed *ast.File) {
		if !strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "internal/test") {
			return
		}
		for _, d := range parsed.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				level, rest := logCall(call)
				if level == "" {
					return true
				}
				m := logged{componentOf(file), level, literal(rest[0])}
				names := fieldNames(rest[1:])
				if call.Ellipsis.IsValid() {
					names = append(names, gathered(fn)...)
				}
				for _, name := range names {
					fields[name] = true
				}
				if m.message == "" {
					t.Errorf("%s: a message of the log is no literal", file)
				}
				if level == "debug" {
					return true
				}
				if messages[m] == nil {
					messages[m] = map[string]bool{}
				}
				for _, name := range names {
					messages[m][name] = true
				}
				return true
			})
		}
	})
	return messages, fields
}

func componentOf(file string) string {
	longest := ""
	for prefix := range components {
		if strings.HasPrefix(file, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest != "" {
		return components[longest]
	}
	return path.Base(path.Dir(file))
}

// logCall returns the level of a logger call, and the arguments of the call, beginning with the message.
// level is empty for other calls.
func logCall(call *ast.CallExpr) (level string, rest []ast.Expr) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	on := ""
	switch x := method.X.(type) {
	case *ast.Ident:
		on = x.Name
	case *ast.SelectorExpr:
		on = x.Sel.Name
	}
	if !strings.EqualFold(on, "log") {
		return "", nil
	}
	name, withContext := strings.CutSuffix(method.Sel.Name, "Context")
	rest = call.Args
	if withContext {
		rest = rest[1:]
	}
	switch name {
	case "Debug", "Info", "Warn", "Error":
		return strings.ToLower(name), rest
	case "LogAttrs":
		if at, ok := call.Args[1].(*ast.SelectorExpr); ok {
			return strings.ToLower(strings.TrimPrefix(at.Sel.Name, "Level")), call.Args[2:]
		}
	}
	return "", nil
}

// fieldNames returns the field names in the arguments of a logger call. The arguments are names that
// alternate with values, or slog attributes.
func fieldNames(args []ast.Expr) (names []string) {
	for i := 0; i < len(args); i++ {
		if call, ok := args[i].(*ast.CallExpr); ok {
			if of, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 2 {
				if pkg, ok := of.X.(*ast.Ident); ok && pkg.Name == "slog" {
					names = append(names, literal(call.Args[0]))
				}
			}
			continue
		}
		if name := literal(args[i]); name != "" {
			names = append(names, name)
			i++ // skip the value of the field
		}
	}
	return names
}

// gathered returns the field names in all composite literals and append calls of a function that collects
// fields in a slice before it logs them.
func gathered(fn *ast.FuncDecl) (names []string) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			names = append(names, fieldNames(n.Elts)...)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "append" {
				names = append(names, fieldNames(n.Args[1:])...)
			}
		}
		return true
	})
	return names
}

// literal returns the text of a string literal; empty for other expressions.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}
