package sqlgen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/query"
)

// maxSize is the maximum number of tables that a statement may read. Each reference to a common
// table counts as a copy of the tables that it reads. SQLite allows 1,000 tables and indexes
// together; MariaDB needs memory for each table.
const maxSize = 250

// common has the common tables of a statement. The WITH clause defines only those that the
// statement uses.
type common struct {
	tables []commonTable
	names  *int
	size   map[string]int // number of tables that each common table reads; each reference counts as a copy

	distinct map[query.ColumnOf]string // by column: name of the common table with its distinct values
	depth    map[string]int            // by name of such a table: length of the chain of tables that it needs
	trees    map[treeFrom]string       // names of the common tables with the pairs of a hierarchy
	inPlace  map[*query.Select]bool    // true: the common table of the sub-select would be too large
	frames   map[*query.Table]*frame   // by table: the SELECT in which it is read
	cells    []int                     // indexes of the cells of the statement that read a common table
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
	commons    []string // the common tables that it reads
	recursive  bool     // true: the table reads itself
}

func newCommon() *common {
	return &common{
		names: new(int), size: map[string]int{}, distinct: map[query.ColumnOf]string{}, depth: map[string]int{},
		trees: map[treeFrom]string{}, inPlace: map[*query.Select]bool{}, frames: map[*query.Table]*frame{},
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
	c.put(e, commonTable{name: name, text: text})
	return name
}

func (c *common) newName() string {
	*c.names++
	return "w" + strconv.Itoa(*c.names)
}

// addRecursive adds the table that e has written. The table reads itself by its name.
func (c *common) addRecursive(e *emitter, name, columns string) {
	c.put(e, commonTable{name: name, text: "(" + columns + ") AS (" + e.b.String() + ")", recursive: true})
}

// follow prepares c for the statement that reads the rows of a page. The emitter page has written
// the statement for the ids of the page. follow takes over the common tables of this emitter, and
// adds a common table with these ids.
func (c *common) follow(page *emitter) {
	c.tables, c.names, c.size = page.common.tables, page.common.names, page.common.size
	c.put(page, commonTable{name: pageName, text: "(id) AS " + page.Dialect.Materialized + "(" + page.b.String() + ")"})
}

// put adds the table t, whose text e has written.
func (c *common) put(e *emitter, t commonTable) {
	t.args, t.commons = e.args, e.commons
	c.tables = append(c.tables, t)
	c.size[t.name] = 1 + e.size
}

// before returns a statement with the WITH clause in front of it. names are the common tables that
// the statement reads. The clause defines these tables, and the common tables that they read.
func (c *common) before(s Statement, names []string) Statement {
	if len(names) == 0 {
		return s
	}
	used := map[string]bool{}
	for _, name := range names {
		used[name] = true
	}
	for _, t := range slices.Backward(c.tables) { // a common table reads only earlier common tables
		for _, name := range t.commons {
			used[name] = used[name] || used[t.name]
		}
	}

	var definitions []string
	var args []any
	with := "WITH "
	for _, t := range c.tables {
		if !used[t.name] {
			continue
		}
		if t.recursive {
			with = "WITH RECURSIVE "
		}
		definitions = append(definitions, t.name+t.text)
		args = append(args, t.args...)
	}
	return Statement{with + strings.Join(definitions, ", ") + " " + s.SQL, append(args, s.Args...)}
}
