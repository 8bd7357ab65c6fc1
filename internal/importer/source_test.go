package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// records reads a source to its end. It returns the key or the error of each record, and the error
// that ended the source; nil: the source ended with io.EOF.
func records(t *testing.T, format, text string) (all []string, end error) {
	t.Helper()
	s, err := openSource(format, strings.NewReader(text), ',')
	if err != nil {
		return nil, err
	}
	for {
		rec, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case rec.err != nil:
			all = append(all, fmt.Sprintf("line %d: %v", rec.line, rec.err))
		default:
			all = append(all, first(rec, "key"))
		}
	}
}

// TestRecordsAreBounded checks that a record that is too large is an error. If the record ends with
// its line, the records after it are read. Otherwise the error ends the import.
func TestRecordsAreBounded(t *testing.T) {
	tooLong := `{"key":"B","text":"` + strings.Repeat("x", maxRecord) + `"}`
	many := strings.Repeat("1,", maxValues)
	commas := strings.Repeat(",", 2*maxFields)
	for _, c := range []struct {
		name, format, text string
		want               []string
		end                error
	}{
		{"a line that is too long", "jsonl", `{"key":"A"}` + "\n" + tooLong + "\n" + `{"key":"C"}`, []string{"A", "line 2: " + errLineTooLong.Error(), "C"}, nil},
		{"too long at the end", "jsonl", `{"key":"A"}` + "\n" + tooLong, []string{"A", "line 2: " + errLineTooLong.Error()}, nil},
		{"too many values", "jsonl", `{"key":"A","list":[` + many + `1]}` + "\n" + `{"key":"B"}`, []string{"line 1: " + errTooManyValues.Error(), "B"}, nil},
		{"a text like many values", "jsonl", `{"key":"A","text":"\"` + many + `"}`, []string{"A"}, nil},
		{"too many values of an issue", "jira", `[{"key":"A","fields":{"labels":[` + many + `1]}}]`, []string{"line 1: " + errTooManyValues.Error()}, nil},
		{"too many fields", "csv", "key,text\nA,x\nB" + commas + "\n", nil, errTooManyFields},
		{"too many columns", "csv", "key" + commas + "\nA\n", nil, errTooManyFields},
		{"a text with many separators", "csv", "key,text\nA,\"\"\"" + commas + "\"\nB,x\n", []string{"A", "B"}, nil},
		{"many rows", "csv", "key,text\n" + strings.Repeat("A,x\n", 2) + "B,\"" + commas + "\"\n", []string{"A", "A", "B"}, nil},
		{"a row with a quote before it", "csv", "key,text\nA,x\"y\nB,\"" + commas + "\"\n", []string{`line 2: bare " in non-quoted-field`, "B"}, nil},
	} {
		got, end := records(t, c.format, c.text)
		if !errors.Is(end, c.end) || c.end == nil && fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %.300v, %v", c.name, got, end)
		}
	}
}

// TestIssuesAsJSON checks the columns of an issue. A page may have the names of fields before
// or after its issues. Documents and names may contain any characters.
func TestIssuesAsJSON(t *testing.T) {
	const document = `{"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Ask "}, {"type": "mention", "attrs": {"id": "5b", "text": "@Ann"}}, {"type": "text", "text": " "},
		{"type": "emoji", "attrs": {"shortName": ":+1:", "text": "👍"}}, {"type": "emoji", "attrs": {"shortName": ":alds:"}}, {"type": "hardBreak"}, {"type": "inlineCard", "attrs": {"url": "https://x/1"}},
		{"type": "text", "text": " see"  , "marks": [{"type": "link", "attrs": {"href": "https://x/2"}}]}, {"type": "status", "attrs": {"text": "DONE"}}, {"type": "date", "attrs": {"timestamp": "1577836800000"}}]}]}`
	const issue = `{"key": "A-1", "fields": {"description": ` + document + `, "customfield_1": 8, "customfield_2": null, "labels": [], "issuelinks": [],
		"comment": {"comments": [{"author": {"displayName": "Doe; Jane"}, "created": "2020-02-06T08:00:00.000+0000", "body": "a;b"}]}}}`
	for name, page := range map[string]string{
		"behind": `{"issues": [` + issue + `], "names": {"customfield_1": "Points", "customfield_2": "Team"}}`,
		"before": `{"names": {"customfield_1": "Points", "customfield_2": "Team"}, "issues": [` + issue + `]}`,
	} {
		s, err := openSource("jira", strings.NewReader(page+page), ',')
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			rec, err := s.next()
			if err != nil || rec.err != nil || string(rec.raw) != issue {
				t.Fatalf("%s: %v, %v, %s", name, err, rec.err, rec.raw)
			}
			for column, want := range map[string]string{
				"Description":           "[Ask @Ann 👍:alds:\nhttps://x/1 see (https://x/2)DONE2020-01-01]",
				"Custom field (Points)": "[8]", "Custom field (Team)": "[]", "Labels": "[]", "Inward issue link (Blocks)": "[]",
			} {
				if got := fmt.Sprint(rec.fields[column]); got != want || !rec.has(column) {
					t.Errorf("%s: %s is %s, want %s", name, column, got, want)
				}
			}
			it := item{}
			if err := (&rule{Column: columns{"Comment"}, Date: []string{"2006-01-02T15:04:05.000-0700"}, zone: time.UTC}).remarks(rec, &it); err != nil || fmt.Sprint(it.Remarks) != "[2020-02-06T08:00:00.000Z;Doe; Jane;a;b]" || it.Remarks[0].Author != "Doe; Jane" {
				t.Errorf("%s: %v, %q", name, err, it.Remarks)
			}
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last record: %v, want EOF", name, err)
		}
	}
	got, end := records(t, "jira", `{"issues": [{"key": "A", "fields": {"key": 1}}, {"key": "B", "fields": {"key": 2}}, {"key": `)
	if fmt.Sprint(got) != "[1 2]" || end == nil {
		t.Errorf("from a truncated page: %v, %v", got, end)
	}
}

// TestEndsOfLines checks that lines may end with CR, LF or CRLF.
func TestEndsOfLines(t *testing.T) {
	for format, text := range map[string]string{"csv": "key,text\nA,\"x\ny\"\nB,z\n", "jsonl": "{\"key\":\"A\",\"text\":\"\\\"\"}\n{\"key\":\"B\"}\n"} {
		for _, end := range []string{"\n", "\r", "\r\n"} {
			for _, last := range []string{text, strings.TrimSuffix(text, "\n")} {
				got, err := records(t, format, strings.ReplaceAll(last, "\n", end))
				if fmt.Sprint(got) != "[A B]" || err != nil {
					t.Errorf("%s with %q: %v, %v", format, end, got, err)
				}
			}
		}
	}
}

// TestMarks checks that imports of different files store their pending requests in different
// files.
func TestMarks(t *testing.T) {
	seen := map[string]Options{}
	for _, o := range []Options{{File: "a/x.csv"}, {File: "a/x.jsonl"}, {File: "a/x.json"}, {File: "a/x.csv.gz"}, {File: "a/x"}, {File: "b/x.csv"}, {File: "-", Format: "csv"}, {File: "-", Format: "jsonl"}, {File: "a/x.csv", Work: "w"}} {
		if before, ok := seen[o.mark()]; ok {
			t.Errorf("%+v and %+v have the mark %s", before, o, o.mark())
		}
		seen[o.mark()] = o
	}
}
