package clienttest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestAnswersToAgentsAreSmall compares the answer to an agent with that of query.v1: a page of fifty stories has at
// most a third of its bytes.
func TestAnswersToAgentsAreSmall(t *testing.T) {
	t.Parallel()
	base, full := testproc.ServeWithToken(t, "sqlite", map[string]string{"ALDS_ADMIN_PASSWORD": password})
	project, _ := shop(t, base)
	var commands []string
	for i := range 50 {
		commands = append(commands, fmt.Sprintf(`{"AssetType": "Story", "Name": "As a buyer I want feature %d", "Scope": "%s", "Estimate": %d, "Status": "%s", "Owners": "Member:20"}`,
			i, project, i%8, []string{"Future", "In Progress", "Done"}[i%3]))
	}
	var made struct{ RequestID string }
	postJSON(t, base+"/api/asset", "["+strings.Join(commands, ",")+"]", &made)
	columns := []string{"Number", "Name", "Status.Name", "Priority.Name", "Owners.Name", "Estimate", "Timebox.Name", "Scope.Name"}
	text := connectAgent(t, base, full, newProtocol, nil).asks("query", args{"from": "Story", "where": args{"Scope": project}, "find": "feature", "select": columns, "size": 50})
	if !strings.HasPrefix(text, "50 rows") {
		t.Fatal(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/query.v1",
		strings.NewReader(`{"from": "Story", "where": {"Scope": "`+project+`"}, "find": "feature", "select": ["`+strings.Join(columns, `", "`)+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+full)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(text)*3 > len(whole) {
		t.Errorf("%d bytes for an agent, %d for query.v1", len(text), len(whole))
	}
	t.Logf("%d bytes for an agent, %d for query.v1", len(text), len(whole))
}
