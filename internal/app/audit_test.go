package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// auditEvent has the parts of an audit event that the test reads.
type auditEvent struct {
	Kind, Actor, Address, Member, Project, Asset, Role, Request, Reason string
	Count                                                               int
}

// audit reads the audit trail as a member, oldest event first.
func (r *running) audit(user, password, query string) []auditEvent {
	r.t.Helper()
	status, body := r.ask("GET", "/api/audit?page=1000&"+query, user, password, "")
	var page struct{ Results []auditEvent }
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
		r.t.Fatalf("%d %s", status, body)
	}
	slices.Reverse(page.Results)
	return page.Results
}

// auditBecomes reads the audit trail repeatedly until it has an event for which the call is(event)
// returns true.
func (r *running) auditBecomes(what, query string, is func(auditEvent) bool) {
	r.t.Helper()
	eventually(r.t, what, func() bool { return slices.ContainsFunc(r.audit("admin", adminPassword, query), is) })
}

// TestAudit checks the audit trail of a whole service. It checks the contents of the events and who
// may read them. It also checks that many refused sign-ins fill only a few rows, and that the trail
// contains no secret.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	r := start(t, map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": "127.0.0.1:0"}, Standalone)
	made := r.bulk(`[
	  {"AssetType": "Member", "Name": "Ann", "Nickname": "Ann", "Username": "ann", "Password": "pass-ann", "DefaultRole": "Role:8"},
	  {"AssetType": "Member", "Name": "Bea", "Nickname": "Bea", "Username": "bea", "Password": "pass-bea", "DefaultRole": "Role:8"},
	  {"@shop": {"AssetType": "Scope", "Name": "Shop", "Parent": "Scope:0", "BeginDate": "2026-01-01"}},
	  {"AssetType": "Scope", "Name": "Cellar", "Parent": "@shop", "BeginDate": "2026-01-01"},
	  {"AssetType": "Scope", "Name": "Garden", "Parent": "Scope:0", "BeginDate": "2026-01-01"}]`).AssetsCreated.OidTokens
	ann, bea, shop, cellar, garden := made[0], made[1], made[2], made[3], made[4]
	r.bulk(fmt.Sprintf(`[{"from": %q, "execute": {"op": "AssignMemberWithRole", "args": {"Member": %q, "Role": "Role:2"}}},
	  {"from": %q, "update": {"Members": %q}}, {"from": %q, "update": {"Members": %q}}]`, shop, ann, cellar, bea, garden, bea))

	var projects []string
	for _, e := range r.audit("ann", "pass-ann", "") {
		if e.Kind != "RoleGranted" || e.Actor != "Member:20" || e.Address != "127.0.0.1" {
			t.Errorf("Ann reads %+v", e)
		}
		projects = append(projects, e.Project+" "+e.Member)
	}
	slices.Sort(projects)
	want := []string{shop + " Member:20", shop + " " + ann, cellar + " Member:20", cellar + " " + bea}
	slices.Sort(want)
	if !slices.Equal(projects, want) {
		t.Errorf("Ann reads events of %v, want %v", projects, want)
	}

	for _, c := range []struct{ user, method, path, body string }{
		{"bea", "GET", "/api/audit", ""}, {"ann", "POST", "/api/webhook", "{}"}, {"ann", "POST", "/api/asset", `{"config": "import"}`},
	} {
		if status, body := r.ask(c.method, c.path, c.user, "pass-"+c.user, c.body); status != http.StatusForbidden {
			t.Fatalf("%+v: %d %s", c, status, body)
		}
	}
	for actor, request := range map[string]string{bea: "GET api/audit", ann: "POST api/webhook"} {
		r.auditBecomes("denied", "kind=Denied", func(e auditEvent) bool {
			return e.Actor == actor && e.Request == request && e.Address == "127.0.0.1" && e.Reason != "" && e.Count == 1
		})
	}
	r.auditBecomes("a sign-in", "kind=SignIn&member="+ann, func(e auditEvent) bool { return e.Actor == ann })
	r.flood(300)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	checkTrail(t, filepath.Join(dir, "alds.db"), 300)
}

// flood sends n requests with wrong tokens.
func (r *running) flood(n int) {
	r.t.Helper()
	for i := range n {
		req, err := http.NewRequest(http.MethodGet, r.base+"/api/audit", http.NoBody)
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Authorization", fmt.Sprintf("Bearer 1.guess%d", i))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			r.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			r.t.Fatalf("a guessed token: %d", resp.StatusCode)
		}
	}
}

// checkTrail reads the rows after the process has stopped. All refused sign-ins must be counted in
// a few rows, and no row may contain a secret.
func checkTrail(t *testing.T, file string, refused int) {
	t.Helper()
	d, err := db.Open(t.Context(), "sqlite:"+file, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var rows, events int
	err = d.QueryRow(t.Context(), `SELECT COUNT(*), SUM(events) FROM audit_trail WHERE kind = 'SignInRefused'`).Scan(&rows, &events)
	if err != nil || rows > 3 || events != refused {
		t.Errorf("%d events in %d rows, %v", events, rows, err)
	}
	texts, err := db.Column[string](t.Context(), d, `SELECT kind || COALESCE(address, '') || COALESCE(detail, '') FROM audit_trail`)
	if err != nil || len(texts) == 0 {
		t.Fatal(err)
	}
	for _, text := range texts {
		for _, secret := range []string{"pass-", "guess", "1."} {
			if strings.Contains(strings.ReplaceAll(text, "127.0.0.1", ""), secret) {
				t.Errorf("a row holds %q: %s", secret, text)
			}
		}
	}
}
