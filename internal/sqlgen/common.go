package sqlgen

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/query"
)

// maxSize is how many tables a statement may read when each reference to one in front of
// it stands for a copy. SQLite takes 1,000, keys counted; MariaDB needs memory for them.
const maxSize = 250

// common are the tables that stand in front of a statement.
type common struct {
	tables []commonTable
	names  *int
	sets   map[query.ColumnOf]string // those of the distinct values of a column
	depth  map[string]int            // of these: how many stand on one another
	size   map[string]int            // of all: the tables read when each reference stands for a copy
	inline map[*query.Select]bool    // those that would be too large
	trees  map[treeFrom]string       // those of the pairs of a hierarchy
	home   map[*query.Table]*frame   // where the tables of a SELECT are read
	cells  []int                     // the cells of the statement that read one

	recursive bool // one of the tables reads itself
}

// treeFrom is a hierarchy that starts at a table in front of the statement.
type treeFrom struct {
	t   *query.Table
	set string
}

// commonTable is one of them: what stands in a WITH.
type commonTable struct {
	name, text string
	args       []any
}

func newCommon() *common {
	return &common{
		names: new(int), sets: map[query.ColumnOf]string{}, depth: map[string]int{}, size: map[string]int{},
		trees: map[treeFrom]string{}, inline: map[*query.Select]bool{}, home: map[*query.Table]*frame{},
	}
}

// add adds the table that an emitter has written, unless there is the same already, and
// returns its name.
func (c *common) add(e *emitter, columns string) string {
	text := "(" + columns + ") AS " + e.Dialect.Materialized + "(" + e.b.String() + ")"
	for _, t := range c.tables {
		if t.text == text && slices.Equal(t.args, e.args) {
			return t.name
		}
	}
	name := c.newName()
	c.put(name, text, e)
	return name
}

func (c *common) newName() string {
	*c.names++
	return "w" + strconv.Itoa(*c.names)
}

// addRecursive adds the table that an emitter has written, which reads itself by a name.
func (c *common) addRecursive(e *emitter, name, columns string) {
	c.put(name, "("+columns+") AS ("+e.b.String()+")", e)
	c.recursive = true
}

// follow makes c the tables of a statement about a page, whose ids an emitter has
// written.
func (c *common) follow(page *emitter) {
	c.tables, c.names, c.recursive, c.size = page.common.tables, page.common.names, page.common.recursive, page.common.size
	c.put(pageName, "(id) AS "+page.Dialect.Materialized+"("+page.b.String()+")", page)
}

func (c *common) put(name, text string, e *emitter) {
	c.tables = append(c.tables, commonTable{name, text, e.args})
	c.size[name] = 1 + e.tables + e.read
}

// keep takes back the tables after the first n, which are too large.
func (c *common) keep(n int) {
	for _, t := range c.tables[n:] {
		delete(c.size, t.name)
		maps.DeleteFunc(c.sets, func(_ query.ColumnOf, name string) bool { return name == t.name })
		maps.DeleteFunc(c.trees, func(_ treeFrom, name string) bool { return name == t.name })
	}
	c.tables = c.tables[:n]
}

// before returns a statement with the tables in front of it.
func (c *common) before(s Statement) Statement {
	if len(c.tables) == 0 {
		return s
	}
	var b strings.Builder
	var args []any
	sep := "WITH "
	if c.recursive {
		sep = "WITH RECURSIVE "
	}
	for _, t := range c.tables {
		b.WriteString(sep + t.name + t.text)
		args = append(args, t.args...)
		sep = ", "
	}
	return Statement{b.String() + " " + s.SQL, append(args, s.Args...)}
}
