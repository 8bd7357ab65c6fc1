//go:build unix

package doctest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// kind is the kind of a command: what it is written in.
type kind int

const (
	ofShell   kind = iota
	statement      // SQL statement; the administrator of the database runs it
	request        // request to the service, such as GET api/system; the administrator sends it
	promQL
)

// command is a command of a document: a whole block, or a command in the text. line is the number of its
// first line, counted from 1.
type command struct {
	kind kind
	text string
	line int
}

// inText matches a command between backquotes in a line of text. It has one group for each kind. A program,
// statement or path without arguments does not match, except for make.
var inText = regexp.MustCompile("`(?:" + strings.Join([]string{
	ofShell: `((?:go run|go test|go tool|go install|bin/\w+|make|curl|docker|docker-compose|systemctl|kubectl|heroku|mysql|mysqldump|mariadb|mariadb-dump|` +
		"sqlite3|redis-cli|openssl|asynq|git|gunzip|promtool|df|nginx|haproxy|caddy) [^`]+|make)",
	statement: "((?i:SHOW|SELECT|UPDATE|DELETE FROM|ALTER|SET GLOBAL) [^`]+)",
	request:   "((?:GET|POST) [^`]+)",
	promQL:    "((?:sum|max|min|count|rate|increase)(?: by)? ?\\([^`]+|alds_\\w+[{ ][^`]+|alds_\\w+ [=<>!]+ [^`]+)",
}, "|") + ")`")

// commandsOf returns the commands of a document in their order. These are the blocks whose language is sh,
// sql or not given, and the commands in the text.
func commandsOf(t *testing.T, path string) (all []command) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var block *command
	isShown := false // true: the line is inside a block in another language
	for i, line := range strings.Split(string(text), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && block != nil:
			all = append(all, *block)
			block = nil
		case isFence && isShown:
			isShown = false
		case isFence && (fence == "" || fence == "sh"):
			block = &command{line: i + 1}
		case isFence && fence == "sql":
			block = &command{kind: statement, line: i + 1}
		case isFence:
			isShown = true
		case block != nil:
			block.text += line + "\n"
		case !isShown:
			for _, m := range inText.FindAllStringSubmatch(line, -1) {
				for k, found := range m[1:] {
					if found != "" {
						all = append(all, command{kind(k), found + "\n", i + 1})
					}
				}
			}
		}
	}
	return all
}

// script returns the text that the shell runs for a command. For commands that are not shell commands, the
// text calls a shell function of the test.
func (c command) script() string {
	text := strings.TrimRight(c.text, "\n")
	switch c.kind {
	case statement:
		return "sql <<'END'\n" + text + "\nEND\n"
	case request:
		return "ask " + strings.NewReplacer("&", `\&`, "?", `\?`, "<", "$", ">", "").Replace(text) + "\n"
	case promQL:
		return "promql <<'END'\n" + text + "\nEND\n"
	}
	return c.text
}

// row describes how the test runs a command.
type row struct {
	begins string // first words of the command
	not    string // why the command is not run; empty: the command is run
	lines  []row  // one row for each line of a block; then the fields below are not used

	before string // commands that the test runs before the command
	types  string // text that the command reads as if the reader typed it
	fails  bool   // true: the command must fail
	beside bool   // true: the command runs in the background while later commands run
	name   string // name of a shell function with this command, so that later rows can run it again
	after  string // commands that the test runs after the command, such as a wait
	prints string // regular expression that must match the output up to the next command
}

// step is a command of the document path with its row.
type step struct {
	path string
	command
	row
}

// steps returns the commands of a document, each with its row.
func steps(t *testing.T, path string, rows []row) (all []step) {
	t.Helper()
	commands := commandsOf(t, path)
	for i, c := range commands {
		if i >= len(rows) {
			t.Fatalf("%s:%d: no row says what becomes of\n%s", path, c.line, c.text)
		}
		if rows[i].lines != nil {
			all = append(all, stepsOfLines(t, path, c, rows[i])...)
			continue
		}
		all = append(all, stepOf(t, path, c, rows[i]))
	}
	if len(rows) > len(commands) {
		t.Fatalf("%s: there is no command %q", path, rows[len(commands)].begins)
	}
	return all
}

func stepOf(t *testing.T, path string, c command, r row) step {
	t.Helper()
	if !strings.HasPrefix(strings.TrimSpace(c.text), r.begins) {
		t.Fatalf("%s:%d: no row says what becomes of\n%s\nthe next is of: %s", path, c.line, c.text, r.begins)
	}
	return step{path, c, r}
}

// stepsOfLines returns the lines of a block, each with its row. Comments have no row.
func stepsOfLines(t *testing.T, path string, c command, r row) (all []step) {
	t.Helper()
	rows := r.lines
	for i, line := range strings.Split(c.text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(rows) == 0 {
			t.Fatalf("%s:%d: no row says what becomes of %s", path, c.line+1+i, line)
		}
		all, rows = append(all, stepOf(t, path, command{c.kind, line + "\n", c.line + 1 + i}, rows[0])), rows[1:]
	}
	if len(rows) > 0 {
		t.Fatalf("%s:%d: there is no line %q", path, c.line, rows[0].begins)
	}
	return all
}

func (s step) String() string { return fmt.Sprintf("%s:%d: %s", s.path, s.line, s.text) }
