package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHandlerPrintsEvents(t *testing.T) {
	const body = `{"events": [{"webhookId": "w", "sequenceId": 7, "eventType": "AssetChanged",
		"instigator": {"name": "Ann"}, "targetAsset": {"_oid": "Story:1:7"}, "changes": [{"name":"Name"}], "snapshot": []}]}`
	for _, c := range []struct {
		what, body, want string
		whole            bool
		status           int
	}{
		{"an event", body, "AssetChanged Story:1:7 by Ann (webhook w, sequence 7)\n  changes  [{\"name\":\"Name\"}]", false, http.StatusOK},
		{"the whole body", body, body, true, http.StatusOK},
		{"no JSON", "hello", "", false, http.StatusBadRequest},
	} {
		var out strings.Builder
		w := httptest.NewRecorder()
		handler(&out, c.whole, http.StatusOK).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %d %q", c.what, w.Code, out.String())
		}
	}
}
