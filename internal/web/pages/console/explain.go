package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxExplained limits the queries of one request.
const maxExplained = 20

// explainedQuery describes how the database runs a query. Spec: interface 4.3.7.
type explainedQuery struct {
	place
	Query      string
	Message    string // why it failed
	Rows       int
	Took       string // milliseconds, including the time for the plan
	Statements []explainedStatement

	sentPlace int // byte offset of the error in the query as it was sent; -1: none
}

// explainedStatement is an SQL statement with its plan.
type explainedStatement struct {
	SQL  string
	Plan resultTable
}

// explainRequest shows how the database runs queries. It first sends a preview to split the
// request into commands. If all commands are queries, it sends each query separately.
func explainRequest(v *ui.Visit, c console) (*ran, error) {
	if !v.Member.Administers() {
		return nil, &ui.Error{Status: http.StatusForbidden, Message: "Explain is for system administrators."}
	}
	r, got, err := send(v, "explain", commandPath+"?previewOnly=true", c.Request)
	if err != nil || r.Message != "" {
		return r, err
	}
	queries, refusal := queriesOf(got.Body)
	if refusal != "" {
		return refusedRun(refusal), nil
	}
	r.Raw, r.Bytes, r.Took = "", 0, 0
	sources := slices.DeleteFunc(commandsOf(c.Request), func(n *document.Node) bool { return slices.Contains(n.Keys, "config") })
	for i, q := range queries {
		one, err := explainOne(v, q)
		if err != nil {
			return nil, err
		}
		if one.sentPlace >= 0 && len(sources) == len(queries) {
			one.Position = sourcePlace(sources[i], []byte(compactJSON(q)), one.sentPlace)
			r.locate(c.Request, []*place{&one.place})
		}
		r.Explained = append(r.Explained, one)
	}
	return r, nil
}

// queriesOf returns the queries of a preview, or the reason why the request cannot be
// explained.
func queriesOf(body []byte) (queries []jsonObject, refusal string) {
	value, err := parseOrdered(body)
	if err != nil {
		return nil, "The preview cannot be read."
	}
	for _, item := range asList(value) {
		command, _ := item.(jsonObject)
		for _, m := range command {
			q, ok := m.Value.(jsonObject)
			if !ok || !q.has("from") || q.has("update") || q.has("execute") {
				return nil, "Only queries are explained; this request has other commands."
			}
			queries = append(queries, q)
		}
	}
	if len(queries) == 0 || len(queries) > maxExplained {
		return nil, fmt.Sprintf("One to %d queries are explained at a time; this request has %d.", maxExplained, len(queries))
	}
	return queries, ""
}

// explainOne runs a query and returns its plan. A refused query is in Message. Errors: the
// request of the page was canceled, or the plan cannot be read.
func explainOne(v *ui.Visit, q jsonObject) (explainedQuery, error) {
	one := explainedQuery{Query: beginOf(compactJSON(q), maxShownCommand), sentPlace: -1}
	if !q.has("explain") {
		q = append(q, jsonMember{Name: "explain", Value: true})
	}
	var answer struct {
		QueryResult struct {
			Results [][]json.RawMessage
			Pages   []struct {
				Explain []struct {
					SQL  string
					Plan json.RawMessage
				}
			}
		}
		CommandFailures struct {
			Commands []struct{ Error struct{ Message string } }
		}
		Diagnostics     []struct{ Position int }
		DurationSeconds float64
	}
	err := v.API.Do(http.MethodPost, commandPath, []byte(compactJSON(q)), &answer)
	if refused, err := ui.AsError(err); err != nil && v.Request.Context().Err() != nil {
		return one, err
	} else if err != nil {
		one.Message = "The answer is larger than a page may read: ask for fewer rows, with page."
	} else if refused != nil {
		one.Message = refused.Message
		if refused.Position != nil {
			one.sentPlace = *refused.Position
		}
	}
	for _, c := range answer.CommandFailures.Commands {
		one.Message = c.Error.Message
	}
	for _, d := range answer.Diagnostics {
		one.sentPlace = d.Position
	}
	one.Took = fmt.Sprintf("%.1f", answer.DurationSeconds*float64(time.Second/time.Millisecond))
	for i, rows := range answer.QueryResult.Results {
		one.Rows = len(rows)
		if i >= len(answer.QueryResult.Pages) {
			break
		}
		for _, s := range answer.QueryResult.Pages[i].Explain {
			plan, err := readTable(json.NewDecoder(bytes.NewReader(s.Plan)), maxListedAssets)
			if err != nil {
				return one, fmt.Errorf("read a plan: %w", err)
			}
			one.Statements = append(one.Statements, explainedStatement{SQL: s.SQL, Plan: plan})
		}
	}
	return one, nil
}
