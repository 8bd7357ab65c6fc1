package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// hushed are valid, invalid and unreadable requests that contain a secret. %s is replaced by the
// address of a receiver whose answer is an invalid redirect.
var hushed = []struct{ request, login string }{
	{`POST /api/asset {"AssetType": "Member", "Name": "N", "Nickname": "N", "Username": "hush", "Password": "hush-password", "DefaultRole": "Role:4"}`, ""},
	{`POST /api/asset {"AssetType": "Member", "Name": "N", "Password": "hush-password", "Nothing": 1}`, ""},
	{`POST /api/asset {"from": "Member:20", "update": {"Password": ["hush-password", "hush-password"]}}`, ""},
	{`POST /api/asset {"from": "Member:20", "update": {"Password": "hush-password", "OldPassword": "hush-password"}}`, ""},
	{`POST /rest-1.v1/Data/Member/20 {"Attributes": {"OldPassword": {"value": "hush-password"}}}`, ""},
	{`POST /api/asset {"from": "Member", "where": {"Password": "hush-password"}, "update": {"Name": "x"}}`, ""},
	{`POST /api/asset {"AssetType": "Member", "Password": hush-password}`, ""},
	{`POST /api/asset {"AssetType": "Member", "Password": "hush-password\q"}`, ""},
	{"POST /api/asset AssetType: Member\nPassword: *hush-password\n", ""},
	{"POST /api/asset AssetType: Member\nPassword: [hush-password\n", ""},
	{"POST /api/asset AssetType: Member\nPassword: hush-password: x\n", ""},
	{`POST /rest-1.v1/Data/Member/20 {"Attributes": {"Password": {"value": "hush-password", "act": "never"}}}`, ""},
	{`POST /rest-1.v1/Data/Member/20 {"Attributes": {"Password": {"value": ["hush-admin"], "act": "set"}}}`, ""},
	{`POST /query.v1 {"from": "Member", "filter": ["Password='hush-password'"], "select": ["Password"]}`, ""},
	{`POST /query.v1 {"from": "Member", "where": {"Password": "hush-password"}}`, ""},
	{`GET /rest-1.v1/Data/Member?where=Password='hush-password'`, ""},
	{`GET /rest-1.v1/Data/Member?password=hush-password`, ""},
	{`GET /query.v1?access_token=hush-token`, ""},
	{`GET /api/tags`, "Basic aHVzaDpodXNoLXBhc3N3b3JkLXR3bw=="}, // hush:hush-password-two
	{`GET /api/tags`, "Basic hush-token"},
	{`GET /api/tags`, "Bearer hush-token"},
	{`GET /api/tags`, "Hush hush-token"},
	{`POST /api/webhook {"url": "%s", "authorizationHeader": "Bearer hush-token", "secret": "whsec_aHVzaC10b2tlbi1odXNoLXRva2VuLWh1c2g=", "enabled": true, "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`, ""},
	{`POST /api/webhook {"url": "http://user:hush-password/x@host/", "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`, ""},
	{`POST /api/webhook {"url": "ftp://user:hush-password@host/?key=hush-token", "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`, ""},
	{`POST /api/webhook {"url": "%s", "authorizationHeader": "hush-token\n", "eventTypes": []}`, ""},
	{`POST /api/webhook {"url": "%s", "secret": "hush-token", "eventTypes": []}`, ""},
	{`POST /api/asset {"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`, ""},
}

// TestSecretsAreNotLogged checks that no line of a process contains a secret, even at the level
// debug.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	attempts := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://hush-token:hush-token@%zz/"+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusFound)
		select {
		case attempts <- struct{}{}:
		default:
		}
	}))
	defer receiver.Close()
	address := strings.Replace(receiver.URL, "http://", "http://user:hush-password@", 1) + "/path?key=hush-token"
	r := start(t, map[string]string{
		"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0", "ALDS_LOG_LEVEL": "debug", "ALDS_ADMIN_PASSWORD": "hush-admin",
	}, Standalone)
	for _, h := range hushed {
		method, rest, _ := strings.Cut(h.request, " ")
		path, body, _ := strings.Cut(rest, " ")
		req, err := http.NewRequest(method, r.base+path, strings.NewReader(strings.ReplaceAll(body, "%s", address)))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("admin", "hush-admin")
		if h.login != "" {
			req.Header.Set("Authorization", h.login)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%s: %d", h.request, resp.StatusCode)
		}
	}
	select {
	case <-attempts:
	case <-time.After(time.Minute):
		t.Error("nothing was delivered")
	}
	failed := false
	for until := time.After(time.Minute); !failed; {
		select {
		case text := <-r.lines.all:
			failed = strings.Contains(text, "delivery attempt failed")
			silent(t, text)
		case <-until:
			t.Fatal("no failed delivery was logged")
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	for text := range r.lines.all {
		silent(t, text)
	}
}

// silent fails the test if a line of the log contains a secret.
func silent(t *testing.T, line string) {
	t.Helper()
	for _, secret := range []string{"hush-", "aHVzaC"} {
		if strings.Contains(line, secret) {
			t.Errorf("logged: %s", line)
		}
	}
}
