package spectest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// curl takes a request of the README apart: its URL below the base, and its
// body.
var curl = regexp.MustCompile(`(?s)^curl .*?http://127\.0\.0\.1:8080/alds([^\s"]+)"?(?: -d '(.*)')?\s*$`)

// TestReadme sends the README's requests one after another, as a newcomer
// would, and gets the event they lead to.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	base, token := startService(t, "sqlite")
	r := &run{t: t, base: base, receiver: newReceiver(t), vars: map[string]string{"token": token}}
	sent := 0
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 0 || !strings.HasPrefix(strings.TrimSpace(block), "curl ") {
			continue
		}
		parts := curl.FindStringSubmatch(strings.TrimSpace(block))
		if parts == nil {
			t.Fatalf("this request of the README is not understood:\n%s", block)
		}
		method := "GET"
		if parts[2] != "" {
			method = "POST"
		}
		body := strings.ReplaceAll(parts[2], "http://127.0.0.1:9000", r.receiver.URL)
		if problem := r.ask(method + " " + parts[1] + "\n\n" + body); problem != "" {
			t.Fatal(problem)
		}
		if r.status != 200 || strings.Contains(string(r.body), `"sourceCommandIndex"`) || strings.Contains(string(r.body), `[[]]`) {
			t.Errorf("the README's request\n%s\nis answered %d %s", block, r.status, shorten(r.body))
		}
		sent++
	}
	if sent != 5 {
		t.Errorf("the README has %d requests, this test knows of 5", sent)
	}
	problem := r.expectReceived(`[{"eventType": "AssetChanged", "snapshot": [{"Name": "Pay by card", "Status.Name": "In Progress", "Estimate": "5"}]}]`,
		&r.receiver.events)
	if problem != "" {
		t.Error(problem)
	}
}
