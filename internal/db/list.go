package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxListed is how many characters a text of a List may have on MySQL: a longer
// column is not kept in a table that can be searched.
const maxListed = 400

// List returns a sub-select of one column called v with the values, and its one
// argument, so that its text is the same for any number of them. MariaDB
// rewrites longer lists of placeholders, drivers and servers take only so many,
// and each length would be a statement of its own.
// Shape: []int64, []float64, or []string of which each is Listable; with bytes
// the texts compare byte by byte.
func (d *Dialect) List(values any, bytes bool) (sql string, arg any) {
	kind, prefix, suffix := "", "", ""
	switch values.(type) {
	case []int64:
		kind = "BIGINT"
	case []float64:
		kind = "DOUBLE"
	case []string:
		if bytes {
			prefix, suffix = d.Bytes()
		}
		kind = fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4%s", maxListed, d.Collate)
	default:
		panic(fmt.Sprintf("db: no list of %T", values))
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // numbers are finite, and strings always have a form
	}
	if d.mysql {
		return "(SELECT " + prefix + "v" + suffix + " AS v FROM JSON_TABLE(?, '$[*]' COLUMNS(v " + kind + " PATH '$')) l)", string(text)
	}
	return "(SELECT " + prefix + "value" + suffix + " AS v FROM json_each(?))", string(text)
}

// Listable reports whether a text may stand in a List as it is.
func (d *Dialect) Listable(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00") && (!d.mysql || len(s) <= maxListed || utf8.RuneCountInString(s) <= maxListed)
}

// Pairs returns the condition that two columns of integers are one of pairs, which all
// differ, and its argument. A list for each column would mean their product, which
// servers plan for, and read where a column has few values; a list of pairs finds no
// key on MariaDB.
// Shape: "(a, b) IN (SELECT a, b FROM JSON_TABLE(?, …) l)", "[[1003,1265],[1004,1271]]".
func (d *Dialect) Pairs(a, b string, pairs [][2]int64) (sql, arg string) {
	text := make([]byte, 0, 24*len(pairs)+2)
	for i, p := range pairs {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '['), p[0], 10)
		text = append(strconv.AppendInt(append(text, ','), p[1], 10), ']')
	}
	from := "json_each(?))"
	columns := "json_extract(value, '$[0]'), json_extract(value, '$[1]')"
	if d.mysql {
		columns, from = "l.a, l.b", "JSON_TABLE(?, '$[*]' COLUMNS(a BIGINT PATH '$[0]', b BIGINT PATH '$[1]')) l)"
	}
	return "(" + a + ", " + b + ") IN (SELECT " + columns + " FROM " + from, "[" + string(text) + "]"
}
