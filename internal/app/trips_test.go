package app

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestRoundTripsOfRequests checks the number of round trips to the database from the login of a
// request to its answer. It takes the minimum of several requests, which excludes the queries
// that the process sends in the background.
func TestRoundTripsOfRequests(t *testing.T) {
	address, trips := testdb.Counted(t, testdb.URL(t, "mysql"))
	settings := map[string]string{
		"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": address, "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
	}
	if err := Migrate(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	token := newToken(t, settings)
	r := start(t, settings, API)
	send := func(path, body string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", path, resp.StatusCode)
		}
	}
	create := func() {
		send("/rest-1.v1/Data/Story", `{"Attributes": {"Name": {"value": "S", "act": "set"}, "Scope": {"value": "Scope:0", "act": "set"}}}`)
	}
	create()
	n := 0
	for _, c := range []struct {
		what string
		ask  func()
		want int64
	}{
		{"a create by path", create, 4},
		{"an update by path", func() {
			n++
			send("/rest-1.v1/Data/Story/1001", `{"Attributes": {"Estimate": {"value": `+strconv.Itoa(n)+`, "act": "set"}}}`)
		}, 4},
		{"a create by bulk", func() { send("/api/asset", `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`) }, 4},
		{"an update by bulk", func() {
			n++
			send("/api/asset", `{"from": "Story:1001", "update": {"Estimate": `+strconv.Itoa(n)+`}}`)
		}, 5},
	} {
		least := int64(1 << 30)
		for range 10 {
			before := trips.Load()
			c.ask()
			least = min(least, trips.Load()-before)
		}
		if least != c.want {
			t.Errorf("%s: %d round trips, want %d", c.what, least, c.want)
		}
	}
}
