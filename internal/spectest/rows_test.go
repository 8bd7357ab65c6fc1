package spectest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rowGroup is a group of rows; cases name one as "prefix / row".
type rowGroup struct{ prefix, about, rows string }

// queryRows are the rows of the interface about queries, and of what existing
// clients and docs/decisions.md add to it, in the words that cases name them by
// in their "spec:" line.
var queryRows = []rowGroup{
	{"token", "the forms of a token (interface 2.3)", `projection, downcast, filter, filter in a filter, aggregate, chain, type prefix, of some types, now only, closures, derived attributes, history`},
	{"filter", "filters (interface 2.3, decisions 15, 18, 19, 125)", `comparisons, equality of texts, value list, not equal, and, or, parentheses, precedence, quotes, variable, context, exists, bare attribute,
		null, to-many relation, relation value, Boolean, asset state, asset type, date, list of scalars, as written, alias`},
	{"aggregate", "aggregates (interface 2.3, decisions 16, 18)", `Sum, Count, DistinctCount, Min, Max, MinDate, MaxDate, And, Or, MaxState, in filters, deleted counted`},
	{"visibility", "what is visible (interface 3 and 5, decision 16)", `deleted hidden, closed and templates shown, lifted by IsDeleted, lifted by AssetState, lifted inside brackets, not lifted by others,
		scopes of the caller, in a deleted project`},
	{"key", "the keys of a query (interface 4.3, decisions 14, 15, 17, 18)", `endpoints, body, response, in bulk, from, select, nested select, nested where, nested filter, nested sort, where, filter, with,
		sort, sort by an aggregate, default order, find, findin, page, asof, asof All, group, unknown key`},
	{"row", "the values of a row (interface 2.5)", `_oid, key, text, number, Boolean, null, relation, to-many, ID, projection through many, nested select, group, asset state, asset type, date,
		UTC date, duration, Blob, tag`},
	{"data", "the data path (interface 4.1 and 8)", `collection, asset, version, attribute, attribute path, paths, errors, default attributes, default page size, accept`},
	{"data", "its parameters (interface 4.1)", `sel, sel with a subtype, where, sort, page, find, findin, asof, with, needTotal, unknown parameters`},
	{"value", "the values of its answers (interface 4.1)", `text, number, Boolean, null, date, state, rank, asset type, many scalar, relation, null relation, to-many relation, projection,
		projection through many, relation through a relation, order, name, Blob`},
	{"history", "versions by path", `versions, ids, abstract type, where, sort, page, asof, seeded`},
	{"beyond", "beyond the interface (decision 14)", `cursor, total, explain`},
	{"message", "messages (interface 7.2)", `type, attribute, filter, OID, key`},
	{"bad input", "bad input (interface 7.1 and 7.2, decision 3)", `filter that cannot be read, filter that means nothing, select, sort, query keys, body, path and parameters, bulk command, limits, beyond, group`},
}

// TestRows prints how many cases each row has; one without is a gap.
func TestRows(t *testing.T) {
	count := map[string]int{}
	for _, c := range loadCases(t) {
		for name := range strings.SplitSeq(c.spec, ",") {
			count[strings.TrimSpace(name)]++
		}
	}
	bad := 0
	for _, table := range loadBad(t) {
		for name := range strings.SplitSeq(table.spec, ",") {
			count[strings.TrimSpace(name)] += len(table.rows)
		}
		bad += len(table.rows)
	}
	rows, gaps := 0, 0
	for _, group := range slices.Concat(queryRows, bulkRows, webhookRows) {
		var line []string
		for row := range strings.SplitSeq(group.rows, ",") {
			name := group.prefix + " / " + strings.Join(strings.Fields(row), " ")
			rows++
			if count[name] == 0 {
				gaps++
				t.Errorf("%s: %q has no case", group.about, name)
			}
			line = append(line, fmt.Sprintf("%s %d", strings.Join(strings.Fields(row), " "), count[name]))
		}
		t.Logf("%s: %s", group.about, strings.Join(line, ", "))
	}
	t.Logf("%d rows, %d gaps; %d bad inputs", rows, gaps, bad)
}
