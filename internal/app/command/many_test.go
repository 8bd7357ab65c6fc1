package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// multiplier writes an export in which the newest part of another export occurs many times. The
// copies of a row differ in ids, moments, Numbers and ranks.
type multiplier struct {
	export []byte
	copies int64
	ended  map[string]int64 // key: name of a sequence; value: the value of the sequence before the newest part
	spans  map[string]int64 // key: counter; value: the number that is added from one copy to the next
	latest int64            // time of all copies, in microseconds UTC
}

// newMultiplier compares two exports of a database: the older one is earlier, the newer one is
// export. The newest part is everything that only the newer export has. Between the two exports the
// service was restarted, so every id of the newest part is greater than the sequence value in the
// older export.
func newMultiplier(t *testing.T, earlier, export string, copies int) *multiplier {
	t.Helper()
	m := &multiplier{export: []byte(export), copies: int64(copies), ended: sequences(t, earlier), spans: map[string]int64{}}
	for name, value := range sequences(t, export) {
		counter := counterOfSequence(name)
		m.spans[counter] = max(m.spans[counter], value-m.ended[name])
	}
	m.spans["rank"] += 64
	eachRow(t, export, func(table string, row map[string]any) {
		if table == "asset_version" || table == "moment_stamp" || table == "audit" {
			m.latest = max(m.latest, number(row["changed_at"]), number(row["at"]))
		}
	})
	return m
}

// sequences reads the table sequence of an export. Key: name of a sequence; value: its last number.
func sequences(t *testing.T, export string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	eachRow(t, export, func(table string, row map[string]any) {
		if table == "sequence" {
			all[row["name"].(string)] = number(row["value"])
		}
	})
	return all
}

// counterOfSequence returns the counter that a sequence belongs to: the part of the name before the
// colon. All sequences of Numbers belong to one counter, and all sequences of ranks belong to
// another counter.
func counterOfSequence(name string) string {
	kind, _, _ := strings.Cut(name, ":")
	return kind
}

// counterOf returns the counter from which the values of a column come, such as the counter id for
// the column to_id. For a column without a counter it returns an empty string.
func counterOf(table, column string) string {
	switch {
	case table == "audit" && column == "id", column == "audit_id":
		return "audit"
	case column == "feed":
		return "feed"
	case column == "moment", strings.HasSuffix(column, "_moment"):
		return "moment"
	case column == "order_key":
		return "rank"
	case column == "number":
		return "number"
	case column == "id", column == "created_by", column == "changed_by", strings.HasSuffix(column, "_id") && column != "request_id":
		return "id"
	}
	return ""
}

// repeated lists the tables whose rows are copied.
var repeated = []string{
	"asset", "asset_version", "asset_link", "asset_value", "asset_value_folded", "asset_text",
	"audit", "moment_stamp", "scope_closure", "scope_member", "scope_hidden",
}

// isNew reports whether a row belongs to the newest part.
func (m *multiplier) isNew(table string, row map[string]any) bool {
	if !slices.Contains(repeated, table) {
		return false
	}
	for column, v := range row {
		switch counter := counterOf(table, column); counter {
		case "id", "moment", "audit":
			if n := number(v); n != db.Forever && n > m.ended[counter] {
				return true
			}
		}
	}
	return false
}

// copied returns the nth copy of a row. All times in the copy are the latest time of the export,
// because times must not run backwards and must not be in the future.
func (m *multiplier) copied(table string, row map[string]any, nth int64) map[string]any {
	c := make(map[string]any, len(row))
	for column, v := range row {
		counter := counterOf(table, column)
		switch {
		case column == "at", column == "created_at", column == "changed_at":
			v = m.latest
		case column == "request_id":
			v = fmt.Sprintf("%08x-0000-4000-8000-%012x", nth, number(row["id"]))
		case counter == "number":
			prefix, digits, _ := strings.Cut(v.(string), "-")
			n, _ := strconv.ParseInt(digits, 10, 64)
			v = fmt.Sprintf("%s-%05d", prefix, n+nth*m.spans[counter])
		case counter == "rank":
			v = number(v) + nth*m.spans[counter]
		case counter != "":
			if n := number(v); n != db.Forever && n > m.ended[counter] {
				v = n + nth*m.spans[counter]
			}
		}
		c[column] = v
	}
	return c
}

// write writes the whole export and returns the number of its assets.
func (m *multiplier) write(t *testing.T, to io.Writer) (assets int) {
	t.Helper()
	out := bufio.NewWriterSize(to, 1<<20)
	rows := 0
	put := func(table string, row map[string]any) {
		if table == "asset" {
			assets++
		}
		rows++
		line, _ := json.Marshal(row)
		_, _ = out.Write(append(line, '\n'))
	}
	head, _, _ := bytes.Cut(m.export, []byte("\n"))
	fmt.Fprintf(out, "%s\n", head)
	for _, table := range tablesOf(t, m.export) {
		fmt.Fprintf(out, "{\"table\":%q}\n", table.name)
		var repeats []map[string]any
		for _, row := range table.rows {
			if table.name == "sequence" {
				name := row["name"].(string)
				row["value"] = number(row["value"]) + m.copies*m.spans[counterOfSequence(name)]
			}
			put(table.name, row)
			if m.isNew(table.name, row) {
				repeats = append(repeats, row)
			}
		}
		for nth := int64(1); nth <= m.copies; nth++ {
			for _, row := range repeats {
				put(table.name, m.copied(table.name, row, nth))
			}
		}
	}
	fmt.Fprintf(out, "{\"rows\":%d}\n", rows)
	if err := out.Flush(); err != nil {
		t.Error(err)
	}
	return assets
}

// tableRows are the rows of a table of an export.
type tableRows struct {
	name string
	rows []map[string]any
}

// tablesOf returns the tables of an export in their order.
func tablesOf(t *testing.T, export []byte) (all []*tableRows) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(export), []byte("\n"))
	for _, line := range lines[1 : len(lines)-1] {
		read := json.NewDecoder(bytes.NewReader(line))
		read.UseNumber()
		var row map[string]any
		if err := read.Decode(&row); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		if name, ok := row["table"].(string); ok && len(row) == 1 {
			all = append(all, &tableRows{name: name})
			continue
		}
		last := all[len(all)-1]
		last.rows = append(last.rows, row)
	}
	return all
}

// eachRow calls do for each row of an export.
func eachRow(t *testing.T, export string, do func(table string, row map[string]any)) {
	t.Helper()
	for _, table := range tablesOf(t, []byte(export)) {
		for _, row := range table.rows {
			do(table.name, row)
		}
	}
}

// number returns a value of a row as an int64, and 0 if the value is not a whole number.
func number(v any) int64 {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case int64:
		return v
	}
	return 0
}
