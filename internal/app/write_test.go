package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLine has the fields of a log line that TestAWriteIsNamedAlikeEverywhere reads.
type logLine struct {
	Msg, Component, Request, Write, Path string
}

// TestAWriteIsNamedAlikeEverywhere checks that the answer, the event, and the log lines of the
// request and of the delivery have the same id for a write. It checks every kind of write.
func TestAWriteIsNamedAlikeEverywhere(t *testing.T) {
	var received sync.Map // key: path; value: a channel with the ids of the writes that came to this path
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Events []struct {
				RequestID string `json:"requestId"`
			} `json:"events"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Events) == 0 {
			t.Errorf("a delivery: %v, %d events", err, len(body.Events))
			return
		}
		if to, ok := received.Load(r.URL.Path); ok {
			select {
			case to.(chan string) <- body.Events[0].RequestID: //nolint:forcetypeassert // the test stores only channels
			default: // the delivery is tried again
			}
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer receiver.Close()
	r := start(t, map[string]string{
		"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0", "ALDS_ADMIN_PASSWORD": "pass", "ALDS_LOG_LEVEL": "debug",
	}, Standalone)
	post := func(id, path, prefer, body string) (answer struct {
		RequestID string `json:"requestId"`
	},
	) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "pass")
		for name, value := range map[string]string{"X-Request-Id": id, "Prefer": prefer, "Accept": "application/json"} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s: %d, %v: %s", path, resp.StatusCode, err, text)
		}
		_ = json.Unmarshal(text, &answer) // not every answer is an object
		return answer
	}
	subscribe := func(path string) <-chan string {
		t.Helper()
		to := make(chan string, 1)
		received.Store(path, to)
		post("s", "/api/webhook", "", `{"url": "`+receiver.URL+path+`", "enabled": true, "eventTypes": [
			{"type": "AssetCreated", "from": "Story"}, {"type": "AssetChanged", "from": "Story"}]}`)
		return to
	}
	for _, w := range []struct{ name, path, prefer, body string }{
		{"bulk", "/api/asset", "", `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0", "TaggedWith": ["old"]}`},
		{"path", "/rest-1.v1/Data/Story", "", `{"Attributes": {"Name": {"value": "S", "act": "set"}, "Scope": {"value": "Scope:0", "act": "set"}}}`},
		{"tags", "/api/tags/command/merge", "", `{"mergeTo": "new", "mergeFrom": ["old"]}`},
		{"later", "/api/asset", "respond-async", `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`},
	} {
		arrived := subscribe("/" + w.name) // a failed delivery delays later deliveries of its subscription
		answer := post(w.name, w.path, w.prefer, w.body)
		event := within(t, arrived, "a delivery")
		if event == "" || answer.RequestID != "" && answer.RequestID != event {
			t.Fatalf("%s: the answer names %q, the event %q", w.name, answer.RequestID, event)
		}
		wanted := map[string]bool{"request": true, "fanned out": true, "delivery attempt failed": true}
		if w.prefer != "" {
			wanted["asynchronous request"] = true
		}
		for over := time.After(time.Minute); len(wanted) > 0; {
			var l logLine
			var text string
			select {
			case text = <-r.lines.all:
			case <-over:
				t.Fatalf("%s: the log has no line about the write %s: %v", w.name, event, wanted)
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil || l.Write != event {
				continue
			}
			if asked := l.Msg == "request" || l.Msg == "asynchronous request"; asked && l.Request != w.name {
				t.Errorf("%s: its line names the request %q: %s", w.name, l.Request, text)
			}
			delete(wanted, l.Msg)
		}
	}
}

// within returns the next value of from. If no value arrives within a minute, it fails the test.
func within(t *testing.T, from <-chan string, what string) string {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(time.Minute):
		t.Fatal("there was not " + what)
		return ""
	}
}
