package sqlgen

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/query"
)

// maxSize is how many tables a statement may read, if every reference to a common table counts
// as a copy of it. SQLite allows 1,000, including keys; MariaDB needs memory for each.
const maxSize = 250

// common holds the common tables of a statement: those in its WITH clause.
type common struct {
	tables []commonTable
	names  *int
	sets   map[query.ColumnOf]string // tables of the distinct values of a column
	depth  map[string]int            // how deep the tables of sets depend on one another
	size   map[string]int            // tables each reads, references counted as copies
	inline map[*query.Select]bool    // sub-selects whose table would be too large
	trees  map[treeFrom]string       // tables of the pairs of a hierarchy
	home   map[*query.Table]*frame   // the SELECT in which a table is read
	cells  []int                     // cells of the statement that read a common table

	recursive bool // a table reads itself
}

// treeFrom is a hierarchy that starts at the ids of a common table.
type treeFrom struct {
	t   *query.Table
	set string
}

// commonTable is one table of a WITH clause.
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

// add adds the table that e has written and returns its name. A table with the same text and
// arguments is reused.
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

// addRecursive adds the table that e has written, which reads itself by its name.
func (c *common) addRecursive(e *emitter, name, columns string) {
	c.put(name, "("+columns+") AS ("+e.b.String()+")", e)
	c.recursive = true
}

// follow makes c the common tables of a statement about a page. page has written the ids of
// that page.
func (c *common) follow(page *emitter) {
	c.tables, c.names, c.recursive, c.size = page.common.tables, page.common.names, page.common.recursive, page.common.size
	c.put(pageName, "(id) AS "+page.Dialect.Materialized+"("+page.b.String()+")", page)
}

func (c *common) put(name, text string, e *emitter) {
	c.tables = append(c.tables, commonTable{name, text, e.args})
	c.size[name] = 1 + e.tables + e.read
}

// keep removes all tables but the first n.
func (c *common) keep(n int) {
	for _, t := range c.tables[n:] {
		delete(c.size, t.name)
		maps.DeleteFunc(c.sets, func(_ query.ColumnOf, name string) bool { return name == t.name })
		maps.DeleteFunc(c.trees, func(_ treeFrom, name string) bool { return name == t.name })
	}
	c.tables = c.tables[:n]
}

// before returns a statement with the WITH clause in front of it.
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
