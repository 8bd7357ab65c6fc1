package db

import (
	"strings"
)

// Forever is the value of until_moment in the current versions of assets.
const Forever int64 = 9223372036854775807

// Dialect describes the differences between servers. Packages that build SQL text use its fields,
// and never compare its name.
type Dialect struct {
	Name        string // "mysql" (MariaDB too) or "sqlite"
	InsertRows  int    // maximum number of rows of one INSERT
	ForUpdate   string // " FOR UPDATE" for rows that the transaction then writes, or empty; see Tx.Lock
	IsAlone     bool   // only one write transaction runs at a time, so it needs no locks
	NowMicros   string // expression: the database's clock in UTC microseconds; one value per statement on MySQL
	NowMillis   string // the same, also in microseconds, but rounded to whole milliseconds
	Greatest    string // function: the greatest of its arguments
	Least       string // function: the least of its arguments
	Collate     string // " COLLATE ..." that gives an expression the order of the text columns
	SmallInside bool   // Small may be called while a Write is open
	Returning   bool   // an UPDATE or INSERT with RETURNING returns rows
	Unfolds     bool   // the server can read a List
	QueriesInON bool   // the ON of a JOIN may contain sub-selects
	SortsWhole  bool   // a sort holds rows in memory with all their columns, if they are long
	TestsInON   bool   // a sub-select in the ON of a LEFT JOIN must not become a join, which would lose its conditions

	ListsNamed   bool   // IN with a sub-select is faster than EXISTS, which tests every row, if the condition has an id
	LikeFunction string // function of pattern, text and escape, if LIKE ignores case; else empty
	Unkeyed      string // prefix of a comparison for which no index must be used
	Materialized string // prefix of the statement of a WITH: its rows are computed once

	quote string
	mysql bool
}

func mysqlDialect() *Dialect {
	return &Dialect{
		Name:        "mysql",
		InsertRows:  500,
		ForUpdate:   " FOR UPDATE",
		NowMicros:   "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
		NowMillis:   "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000000 AS SIGNED)",
		Greatest:    "GREATEST",
		Least:       "LEAST",
		Collate:     " COLLATE utf8mb4_unicode_ci",
		SmallInside: true,
		Unfolds:     true,
		QueriesInON: true,
		quote:       "`",
		mysql:       true,
	}
}

func sqliteDialect() *Dialect {
	return &Dialect{
		Name:       "sqlite",
		IsAlone:    true,
		InsertRows: 50,
		NowMicros:  "alds_now()",
		NowMillis:  "alds_now() / 1000 * 1000",
		Greatest:   "MAX",
		Least:      "MIN",
		Collate:    " COLLATE ALDS",
		Returning:  true,
		Unfolds:    true,
		quote:      `"`,

		QueriesInON:  true,
		Materialized: "MATERIALIZED ",
		ListsNamed:   true,
		SortsWhole:   true,
		LikeFunction: "alds_like",
		Unkeyed:      "+",
	}
}

// By returns the clause after a table name that makes the server find rows with one index; key is
// the name of the index. An UPDATE that finds its rows with the index PRIMARY locks no other rows.
func (d *Dialect) By(key string) string {
	if !d.mysql {
		return ""
	}
	return " FORCE INDEX (" + key + ")"
}

// DialectNamed returns the dialect "mysql" or "sqlite" without a database, for code that only
// makes SQL text. It panics on another name.
func DialectNamed(name string) *Dialect {
	switch name {
	case "mysql":
		return mysqlDialect()
	case "sqlite":
		return sqliteDialect()
	}
	panic("db: no dialect " + name)
}

// Quote returns an identifier in the server's quotes.
func (d *Dialect) Quote(ident string) string {
	return d.quote + strings.ReplaceAll(ident, d.quote, d.quote+d.quote) + d.quote
}

// JSONText returns the SQL expression for a string that is stored under key in a JSON column. col
// is the quoted and qualified name of the column. The expression sorts like a text column. It is
// NULL when the key is absent.
func (d *Dialect) JSONText(col, key string) string {
	if d.mysql {
		return "JSON_UNQUOTE(" + d.extract(col, key) + ")" + d.Collate
	}
	return d.extract(col, key) + d.Collate
}

// Bytes returns the text to put around a text expression so that it compares byte by byte,
// including trailing spaces.
func (d *Dialect) Bytes() (prefix, suffix string) {
	if d.mysql {
		return "CAST(", " AS BINARY)"
	}
	return "", " COLLATE BINARY"
}

// Folded returns the text to put around a text expression to get its folded form (package folding),
// which compares byte by byte. The parameter stored is the expression of the stored folded form,
// which is NULL if it equals the lower case of the text. It is empty for a text whose folded form
// is always the lower case.
func (d *Dialect) Folded(stored string) (prefix, suffix string) {
	prefix, suffix = d.Bytes()
	if stored == "" {
		return prefix + "LOWER(", ")" + suffix
	}
	return prefix + "COALESCE(" + stored + ", LOWER(", "))" + suffix
}

// JSONNumber returns the expression for a number stored under key, as a double.
func (d *Dialect) JSONNumber(col, key string) string {
	if d.mysql {
		return "CAST(" + d.extract(col, key) + " AS DOUBLE)"
	}
	return "CAST(" + d.extract(col, key) + " AS REAL)"
}

// JSONInt returns the expression for an integer stored under key, such as an instant, without
// rounding.
func (d *Dialect) JSONInt(col, key string) string {
	if d.mysql {
		return "CAST(" + d.extract(col, key) + " AS SIGNED)"
	}
	return "CAST(" + d.extract(col, key) + " AS INTEGER)"
}

// JSONBool returns the expression for a boolean stored under key: 1, 0 or NULL.
func (d *Dialect) JSONBool(col, key string) string {
	if d.mysql {
		return "CASE JSON_UNQUOTE(" + d.extract(col, key) + ") WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
	}
	return d.extract(col, key)
}

// inPath escapes a key in a JSON path. It is made once because a query may contain many
// paths.
var inPath = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (d *Dialect) extract(col, key string) string {
	path := inPath.Replace(key)
	literal := strings.ReplaceAll(`$."`+path+`"`, "'", "''")
	if d.mysql {
		literal = strings.ReplaceAll(literal, `\`, `\\`)
		return "JSON_EXTRACT(" + col + ", '" + literal + "')"
	}
	return "json_extract(" + col + ", '" + literal + "')"
}

// Upsert returns the clause that turns an INSERT into an upsert. If a row with the same unique key
// keyCols exists, its columns updateCols get the values of the new row. Without updateCols the
// existing row stays unchanged.
func (d *Dialect) Upsert(keyCols, updateCols []string) string {
	var b strings.Builder
	if d.mysql {
		b.WriteString(" ON DUPLICATE KEY UPDATE ")
		if len(updateCols) == 0 {
			b.WriteString(d.Quote(keyCols[0]) + " = " + d.Quote(keyCols[0]))
		}
	} else {
		b.WriteString(" ON CONFLICT (" + d.list(keyCols) + ") DO ")
		if len(updateCols) == 0 {
			b.WriteString("NOTHING")
			return b.String()
		}
		b.WriteString("UPDATE SET ")
	}
	for i, c := range updateCols {
		if i > 0 {
			b.WriteString(", ")
		}
		q := d.Quote(c)
		if d.mysql {
			b.WriteString(q + " = VALUES(" + q + ")")
		} else {
			b.WriteString(q + " = excluded." + q)
		}
	}
	return b.String()
}

func (d *Dialect) list(cols []string) string {
	quoted := make([]string, len(cols))
	for i, c := range cols {
		quoted[i] = d.Quote(c)
	}
	return strings.Join(quoted, ", ")
}
