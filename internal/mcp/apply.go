package mcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxUnasked is the number of assets up to which a plan is applied without a question, if it deletes
// nothing.
const maxUnasked = 50

func runApply(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct {
		Plan       string
		Assets     *whole
		Structured bool
	}
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if a.Plan == "" || a.Assets == nil {
		return nil, refusef("apply needs plan and assets, as the plan has told them")
	}
	var p planned
	switch _, err := c.get("api/plans/"+url.PathEscape(a.Plan), &p); {
	case err != nil:
		return nil, err
	case !p.Applied && p.Size.Assets != int(*a.Assets):
		return nil, refusef("The plan changes %s, not %d. Nothing was changed: read the plan again", plural(p.Size.Assets, "asset"), *a.Assets)
	}
	if !p.Applied && (p.Size.Assets > maxUnasked || len(p.Size.Deleted) > 0) && c.canAsk() {
		switch yes, asked := c.confirmed(&p); {
		case !asked:
			return c.question(&p), nil
		case !yes:
			return failed("Nothing was changed: the user has not agreed"), nil
		}
	}
	got, err := c.do(http.MethodPost, link("api/asset", "plan", a.Plan), nil)
	if err != nil {
		return nil, err
	}
	if got.status == http.StatusConflict {
		return differences(got.body)
	}
	var w written
	if err := got.decode(&w); err != nil {
		return nil, err
	}
	if a.Structured {
		return inJSON(w.short()), nil
	}
	l := &lines{}
	if p.Applied {
		l.add("This plan was applied before. This is its answer.")
	}
	w.print(l)
	return answered(l), nil
}

// written is the answer to commands. Spec: interface 2.5.
type written struct {
	RequestID        string
	AssetsCreated    oids
	AssetsModified   oids
	AssetsOperatedOn oids
	CommandFailures  struct {
		Count    int
		Commands []struct{ Error struct{ Message string } }
	}
}

type oids struct {
	OIDTokens []string
	Count     int
}

// maxOIDs is how many Oids of each list an answer has.
const maxOIDs = 100

func (w *written) print(l *lines) {
	l.add("Applied. Request ", w.RequestID, ", which undo takes back.")
	for _, of := range []struct {
		what string
		oids oids
	}{{"created", w.AssetsCreated}, {"modified", w.AssetsModified}, {"operated on", w.AssetsOperatedOn}} {
		if n := len(of.oids.OIDTokens); n > 0 {
			more := ""
			if n > maxOIDs {
				more = fmt.Sprintf(" and %d more", n-maxOIDs)
			}
			l.add(fmt.Sprintf("%s: %s%s", of.what, strings.Join(of.oids.OIDTokens[:min(n, maxOIDs)], ", "), more))
		}
	}
	for i, f := range w.CommandFailures.Commands {
		if i == maxRefused {
			break
		}
		l.add("refused: ", clipped(oneLine(f.Error.Message), maxCell))
	}
}

func (w *written) short() map[string]any {
	cut := func(o oids) []string { return append([]string{}, o.OIDTokens[:min(len(o.OIDTokens), maxOIDs)]...) }
	return map[string]any{
		"requestId": w.RequestID, "created": cut(w.AssetsCreated), "modified": cut(w.AssetsModified), "operatedOn": cut(w.AssetsOperatedOn), "refused": w.CommandFailures.Count,
	}
}

// differences says why a plan was not applied.
func differences(body []byte) (*sdk.CallToolResult, error) {
	var d struct {
		Error       string
		Differences struct {
			List          []struct{ Planned, Now *effect }
			Count, Hidden int
		}
	}
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, err
	}
	l := &lines{}
	l.add(oneLine(d.Error), ".")
	if d.Differences.Count > 0 {
		l.add(plural(d.Differences.Count, "difference"), ". Make a new plan.")
		l.add(marked)
	}
	for _, one := range d.Differences.List {
		switch {
		case one.Planned != nil:
			l.add("planned: ", assetLine([]effect{*one.Planned}))
		case one.Now != nil:
			l.add("now: ", assetLine([]effect{*one.Now}))
		}
	}
	if l.full {
		l.end("The list is cut.")
	}
	got := answered(l)
	got.IsError = true
	return got, nil
}

// canAsk reports whether the agent can ask its user. Older clients cannot be asked: a server without
// state cannot wait for their answer.
func (c *call) canAsk() bool {
	if c.request == nil || c.request.Session == nil {
		return false
	}
	p := c.request.Session.InitializeParams()
	return p != nil && p.ProtocolVersion >= asking && p.Capabilities != nil && p.Capabilities.Elicitation != nil
}

// asking is the first version of the protocol in which an answer can ask for input.
const asking = "2026-07-28"

// confirm is the name of the question to the user.
const confirm = "confirm"

// question asks the user. The state in the answer shows later which plan the user was asked about.
func (c *call) question(p *planned) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{confirm: &sdk.ElicitParams{
			Message:         fmt.Sprintf("Apply this change? %s. It changes %s.", p.Summary, plural(p.Size.Assets, "asset")),
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		}},
		RequestState: c.seal(p),
	}
}

// confirmed reports whether the user was asked about this plan, and has agreed.
func (c *call) confirmed(p *planned) (yes, asked bool) {
	params := c.request.Params
	if params.RequestState == "" || !hmac.Equal([]byte(params.RequestState), []byte(c.seal(p))) {
		return false, false
	}
	got, ok := params.InputResponses[confirm].(*sdk.ElicitResult)
	return ok && got.Action == "accept", ok
}

// seal returns a text that only this caller can have got, and only for this plan. Its key is the
// credentials of the call, so that every process can check it.
func (c *call) seal(p *planned) string {
	m := hmac.New(sha256.New, []byte("alds apply\n"+c.header.Get("Authorization")+"\n"+c.header.Get("Cookie")))
	fmt.Fprintf(m, "%s %d", deref(p.Plan), p.Size.Assets)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func runPropose(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	var a struct{ Plan, Name, Project, Description string }
	if err := decode(arguments, &a); err != nil {
		return nil, err
	}
	if a.Plan == "" || a.Name == "" || a.Project == "" {
		return nil, refusef("propose needs plan, name and project")
	}
	body := asked{"plan": a.Plan, "name": a.Name, "scope": a.Project}
	if a.Description != "" {
		body["description"] = a.Description
	}
	got, err := c.do(http.MethodPost, "api/proposals", marshal(body))
	if err != nil {
		return nil, err
	}
	if got.status == http.StatusConflict {
		return differences(got.body)
	}
	var kept struct{ Proposal, Plan string }
	if err := got.decode(&kept); err != nil {
		return nil, err
	}
	l := &lines{}
	l.add("Proposed as ", kept.Proposal, ". Nothing has changed yet. Somebody with the right applies or declines it.")
	return answered(l), nil
}
