package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// records reads a source to its end: of each record its key or error.
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

// What is too large to be one record is named, and the others go on where it ends in a line.
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
