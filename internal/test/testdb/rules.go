package testdb

import (
	"fmt"
	"slices"
	"strings"
)

// rule says what a statement of alds must not contain, and why: usually because an engine does not support
// it. alds sends only what all engines in docs/engines.md support.
type rule struct {
	has string // consecutive tokens, as in Statement.words
	is  func(Statement) bool
	why string
}

// onTiDB are rules for statements to TiDB. alds sends such statements to other engines.
var onTiDB = []rule{
	{has: "READ ONLY", why: "TiDB refuses it unless tidb_enable_noop_functions is set"},
	{has: "JSON_TABLE (", why: "TiDB has no JSON_TABLE"},
	{is: subqueryInON, why: "TiDB takes no subquery in ON"},
	{is: altersOneColumnTwice, why: "TiDB holds each change against the table as it is before the statement"},
}

// everywhere are rules for statements to all servers.
var everywhere = []rule{
	// Locks that exist on only one node, or that an engine does not have.
	{has: "FOR SHARE", why: "it locks on one node of a cluster only; TiDB takes it for nothing"},
	{has: "LOCK IN SHARE MODE", why: "as FOR SHARE"},
	{has: "LOCK TABLES", why: "it locks on one node of a cluster only; not in Galera, TiDB and Vitess"},
	{has: "SKIP LOCKED", why: "not in TiDB, and by certification nobody waits for a lock"},
	{has: "NOWAIT", why: "not in MariaDB's form for all statements"},
	{has: "SERIALIZABLE", why: "not in TiDB"},

	// Features that an engine does not have.
	{has: "RETURNING", why: "not in MySQL, TiDB and Vitess; MariaDB has none for UPDATE"},
	{has: "AUTO_INCREMENT", why: "Galera and group replication leave gaps, TiDB gives ranges to servers"},
	{has: "FOREIGN KEY", why: "Vitess in part; group replication advises against cascades with several primaries"},
	{has: "REFERENCES", why: "as FOREIGN KEY"},
	{has: "TRIGGER", why: "not in TiDB"},
	{has: "PROCEDURE", why: "not in TiDB"},
	{has: "CALL", why: "not in TiDB"},
	{has: "EVENT", why: "not in TiDB"},
	{has: "FULLTEXT", why: "not in TiDB"},
	{has: "MATCH (", why: "not in TiDB"},
	{has: "SPATIAL", why: "not in TiDB"},
	{has: "GEOMETRY", why: "not in TiDB"},
	{has: "LATERAL", why: "not in TiDB and MariaDB"},
	{has: "TEMPORARY", why: "it belongs to a connection, which a proxy may share"},
	{has: "OUTFILE", why: "not through Vitess; a file of the server"},
	{has: "INFILE", why: "TiDB and Vitess in part"},
	{has: "HANDLER", why: "not in TiDB"},
	{has: "XA", why: "not in TiDB"},
	{has: "AS SELECT", why: "CREATE TABLE … AS SELECT: not in TiDB and Galera"},
	{has: "CHECK TABLE", why: "not in TiDB"},
	{has: "OPTIMIZE TABLE", why: "not in TiDB"},
	{has: "PARTITION BY HASH", why: "a table of MySQL and one of TiDB would differ"},
	{has: "GENERATED", why: "TiDB and MariaDB differ in what may stand in it"},
	{has: "SOUNDS LIKE", why: "not in TiDB"},
	{has: "INTERSECT", why: "not in MySQL before 8.0.31 and Vitess before 21"},
	{has: "EXCEPT", why: "as INTERSECT"},
	{has: "REPLACE INTO", why: "it deletes: what the row had besides is lost"},

	// Statements that make a transaction as large as a table.
	{is: changesAll, why: "an UPDATE or DELETE without a condition: TiDB takes 100 MB in a transaction by default, Galera 2 GB, Vitess so many rows"},
	{is: deletesByRange, why: "a DELETE by a range alone and without LIMIT: as one without a condition"},

	// Features that may be missing in an engine.
	{is: func(s Statement) bool { return unknownVerb(s) != "" }, why: "a kind of statement that is not in the list"},
	{is: func(s Statement) bool { return unknownFunction(s) != "" }, why: "a function that is not in the list"},
	{is: func(s Statement) bool { return unknownVariable(s) != "" }, why: "SET of a variable that is not in the list"},
	{is: unknownCollation, why: "a character set or collation that is not in the list"},
}

// verbs are the words with which statements of alds may begin.
var verbs = []string{
	"SELECT", "( SELECT", "WITH", "INSERT INTO", "INSERT IGNORE INTO", "UPDATE", "DELETE FROM",
	"START TRANSACTION", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT",
	"SET SESSION", "SET NAMES", "SHOW GLOBAL VARIABLES", "SHOW VARIABLES LIKE",
	"KILL ?", "DO ?", "CREATE TABLE IF NOT EXISTS", "ALTER TABLE", "DROP TABLE IF EXISTS",
	"EXPLAIN FORMAT = TRADITIONAL",
}

// functions are the allowed functions. MySQL, MariaDB, TiDB and Vitess have all of them.
var functions = []string{
	"ABS", "AVG", "CAST", "COALESCE", "CONCAT", "CONNECTION_ID", "COUNT", "DATABASE", "DENSE_RANK", "FLOOR", "GREATEST", "IF", "IFNULL", "JSON_EXTRACT",
	"JSON_REMOVE", "JSON_TABLE", "JSON_UNQUOTE", "LAG", "LAST_INSERT_ID", "LEAST", "LENGTH", "LOWER", "MAX", "MIN", "MOD", "NOW", "NULLIF", "ROUND", "ROW_NUMBER",
	"SUBSTR", "SUBSTRING", "SUM", "UNIX_TIMESTAMP", "VERSION",
}

// others are words that may come before a parenthesis and are not functions.
var others = strings.Fields(`IN AND OR NOT ON AS FROM JOIN WHERE EXISTS VALUES SELECT BY CASE WHEN THEN ELSE SET UNION ALL LIKE BETWEEN HAVING
	KEY INDEX OVER COLUMNS RECURSIVE DISTINCT IS LIMIT CHAR VARCHAR VARBINARY BINARY INT SMALLINT BIGINT`)

// variables are the session variables that alds may set on every server. On nodes of clusters it also sets
// WSREP_SYNC_WAIT and GROUP_REPLICATION_CONSISTENCY (see db.DB.Write). These two are missing here, because
// statements to clusters are not recorded.
var variables = []string{
	"TRANSACTION ISOLATION LEVEL READ COMMITTED", "TRANSACTION ISOLATION LEVEL REPEATABLE READ",
	"SQL_MODE", "TIME_ZONE", "INNODB_LOCK_WAIT_TIMEOUT", "SQL_SELECT_LIMIT", "MAX_EXECUTION_TIME",
	"WAIT_TIMEOUT", "NET_READ_TIMEOUT", "NET_WRITE_TIMEOUT",
}

// collations are the allowed collations. TiDB has them if its new collations are enabled. That is its
// default since version 6.0.
var collations = []string{"UTF8MB4_UNICODE_CI", "UTF8MB4_BIN", "ASCII_BIN"}

// accepted maps the beginnings of statements that may break a rule to the reason.
var accepted = map[string]string{
	"DELETE FROM AUDIT_TRAIL WHERE AT":               "trail.Prune has counted that there are at most pruneRows of them",
	"DELETE FROM PROCESS WHERE SEEN <":               "a row for each process that has run within a week and is gone",
	"DELETE FROM ASSET_VALUE_FOLDED":                 "a migration of releases before the first, on a table that is empty in a new database",
	"DELETE FROM CREDENTIAL_FOLDED":                  "as asset_value_folded",
	"UPDATE `asset_version` V JOIN `rank_carried` C": "as asset_value_folded",
	"UPDATE `asset` A JOIN `rank_carried` C":         "as asset_value_folded",
}

func (s Statement) isAccepted() bool {
	for begin := range accepted {
		if s.begins(begin) {
			return true
		}
	}
	return false
}

// broken returns a text for each of the rules that the statement breaks.
func (s Statement) broken(rules []rule) (all []string) {
	if s.isAccepted() {
		return nil
	}
	for _, r := range rules {
		if r.has != "" && s.has(r.has) {
			all = append(all, r.has+": "+r.why)
		}
		if r.is != nil && r.is(s) {
			all = append(all, r.why+strings.TrimRight(": "+unknownVerb(s)+unknownFunction(s)+unknownVariable(s), ": "))
		}
	}
	return all
}

func (s Statement) has(tokens string) bool { return strings.Contains(s.words, " "+tokens+" ") }

func (s Statement) begins(tokens string) bool { return strings.HasPrefix(s.words, " "+tokens+" ") }

func unknownVerb(s Statement) string {
	if slices.ContainsFunc(verbs, s.begins) {
		return ""
	}
	return strings.Join(strings.Fields(s.words)[:1], " ")
}

// unknownFunction returns the first word before a parenthesis that is in neither functions nor others, or
// "". It ignores names: a word after INTO, EXISTS or KEY, and a table of a WITH.
func unknownFunction(s Statement) string {
	tokens := strings.Fields(s.words)
	for i, t := range tokens {
		if i == 0 || t != "(" || !isWord(tokens[i-1][0]) || slices.Contains(functions, tokens[i-1]) || slices.Contains(others, tokens[i-1]) {
			continue
		}
		if i > 1 && slices.Contains([]string{"INTO", "EXISTS", "KEY"}, tokens[i-2]) || isTableOfWith(tokens[i:]) {
			continue
		}
		return tokens[i-1]
	}
	return ""
}

// isTableOfWith reports whether the parentheses have the columns of a table in a WITH. Then AS and another
// parenthesis follow them.
func isTableOfWith(tokens []string) bool {
	end := slices.Index(tokens, ")")
	return end > 0 && end+2 < len(tokens) && tokens[end+1] == "AS" && tokens[end+2] == "("
}

func unknownVariable(s Statement) string {
	if !s.begins("SET SESSION") {
		return ""
	}
	for _, one := range strings.Split(strings.TrimPrefix(s.words, " SET SESSION "), " , ") {
		name, _, _ := strings.Cut(strings.TrimSpace(one), " =")
		if !slices.Contains(variables, name) {
			return name
		}
	}
	return ""
}

func unknownCollation(s Statement) bool {
	tokens := strings.Fields(s.words)
	for i, t := range tokens[:len(tokens)-1] {
		if t == "COLLATE" && !slices.Contains(collations, tokens[i+1]) {
			return true
		}
	}
	return false
}

// changesAll reports whether a statement is an UPDATE or DELETE without a condition.
func changesAll(s Statement) bool {
	return (s.begins("UPDATE") || s.begins("DELETE")) && !s.has("WHERE")
}

// deletesByRange reports whether a statement is a DELETE without LIMIT whose condition has no =, IN or
// BETWEEN.
func deletesByRange(s Statement) bool {
	return s.begins("DELETE") && s.has("WHERE") && !s.has("=") && !s.has("IN (") && !s.has("BETWEEN") && !s.has("LIMIT")
}

// altersOneColumnTwice reports whether a statement is an ALTER TABLE that adds both a column and a key.
func altersOneColumnTwice(s Statement) bool {
	return s.begins("ALTER TABLE") && s.has("ADD COLUMN") && (s.has("ADD KEY") || s.has("ADD UNIQUE KEY"))
}

// subqueryInON reports whether a statement has a SELECT inside an ON.
func subqueryInON(s Statement) bool {
	var on []bool // by level of parentheses: true if the level is inside an ON
	on = append(on, false)
	for _, t := range strings.Fields(s.words) {
		last := len(on) - 1
		switch t {
		case "(":
			on = append(on, on[last])
		case ")":
			on = on[:max(last, 1)]
		case "ON":
			on[last] = true
		case "JOIN", "LEFT", "WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "UNION", "DUPLICATE":
			on[last] = false
		case "SELECT":
			if on[last] {
				return true
			}
		}
	}
	return false
}

// Broken returns a text for each rule that a recorded statement breaks. If isTiDB is true, the rules for
// TiDB count, too. own are statements that the tests themselves send. They are not checked.
func (r *Recorder) Broken(isTiDB bool, own ...string) (all []string) {
	rules := everywhere
	if isTiDB {
		rules = slices.Concat(everywhere, onTiDB)
	}
	for _, s := range r.Statements() {
		if slices.Contains(own, s.Text) {
			continue
		}
		for _, why := range s.broken(rules) {
			all = append(all, fmt.Sprintf("%s\n\t%s", why, s.Text))
		}
	}
	return all
}
