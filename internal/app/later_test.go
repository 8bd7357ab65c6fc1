package app

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// ask sends a request and returns the status and the body of the answer.
func (r *running) ask(method, path, user, password, body string, headers ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestAcceptedRequestsOfAClosedMember checks that an accepted request is not executed if its
// member was closed meanwhile. The requests of other members are executed.
func TestAcceptedRequestsOfAClosedMember(t *testing.T) {
	t.Parallel()
	settings := map[string]string{
		"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": testdb.URL(t, "mysql"), "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
	}
	getenv := env(settings)
	if err := Migrate(t.Context(), Environment{Getenv: getenv, Stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	api := start(t, settings, API) // no worker runs yet
	made := api.bulk(`[
	  {"AssetType": "Member", "Name": "Cara", "Nickname": "Cara", "Username": "cara", "Password": "pass-cara", "DefaultRole": "Role.Name'System Admin"},
	  {"AssetType": "Scope", "Name": "Garden", "Parent": "Scope:0", "BeginDate": "2026-01-01"}]`)
	member, scope := made.AssetsCreated.OidTokens[0], made.AssetsCreated.OidTokens[1]
	accept := func(user, password, name string) string {
		status, body := api.ask("POST", "/api/asset", user, password, `{"AssetType": "Story", "Name": "`+name+`", "Scope": "`+scope+`"}`, "Prefer: respond-async")
		var answer struct{ RequestID string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		return answer.RequestID
	}
	hers, admins := accept("cara", "pass-cara", "Hers"), accept("admin", adminPassword, "Admin's")
	api.bulk(`{"from": "` + member + `", "execute": "Inactivate"}`)
	start(t, settings, Worker)
	for id, want := range map[string]string{hers: "The member may no longer log in", admins: `"assetsCreated":{"oidTokens":["Story:`} {
		deadline := time.Now().Add(time.Minute)
		for {
			_, body := api.ask("GET", "/api/asset/"+id, "admin", adminPassword, "")
			if strings.Contains(body, want) {
				break
			}
			if !strings.Contains(body, `"processing":true`) || time.Now().After(deadline) {
				t.Fatalf("want %s: %s", want, body)
			}
		}
	}
	if _, body := api.ask("POST", "/query.v1", "admin", adminPassword, `{"from": "Story", "select": ["Name"]}`); strings.Contains(body, "Hers") || !strings.Contains(body, "Admin's") {
		t.Errorf("the stories: %s", body)
	}
}
