package httpapi

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/limits/memory"
)

// TestDescriptionsAreKeptByClients checks that a client gets a description in a form that it
// accepts, and 304 if it already has the description.
func TestDescriptionsAreKeptByClients(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	plain := `"all of /alds/meta.v1"`
	for _, c := range []struct {
		why, accepts, known string
		status              int
		body, encoding, tag string
	}{
		{"a first request", "", "", 200, plain, "", `"t1"`},
		{"compressed", "gzip, deflate, br", "", 200, "packed", "gzip", `"t1-gzip"`},
		{"anything", "*", "", 200, "packed", "gzip", `"t1-gzip"`},
		{"anything but gzip", "*, gzip; q=0", "", 200, plain, "", `"t1"`},
		{"another form", "br", "", 200, plain, "", `"t1"`},
		{"known", "", `"t1"`, 304, "", "", `"t1"`},
		{"known in the other form", "gzip", `"t1"`, 304, "", "", `"t1-gzip"`},
		{"known as a proxy has it", "", `W/"t0", W/"t1-gzip"`, 304, "", "", `"t1"`},
		{"known at all", "", `*`, 304, "", "", `"t1"`},
		{"another one is known", "", `"t0"`, 200, plain, "", `"t1"`},
		{"half a tag", "", `"t"`, 200, plain, "", `"t1"`},
	} {
		resp, body := call(t, a, "GET", "/alds/meta.v1", "", "Accept-Encoding", c.accepts, "If-None-Match", c.known)
		h := resp.Header
		if resp.StatusCode != c.status || body != c.body || h.Get("Content-Encoding") != c.encoding || h.Get("ETag") != c.tag {
			t.Errorf("%s: %d %s %v", c.why, resp.StatusCode, body, h)
		}
		if h.Get("Vary") != "Accept, Accept-Encoding" || h.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %v", c.why, h)
		}
	}
	resp, _ := call(t, a, "GET", "/alds/api/tags/all", "", "If-None-Match", "*", "Accept-Encoding", "gzip")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("data: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestTextsTakeMemory checks that the texts of many tags must fit into the memory of a request.
func TestTextsTakeMemory(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.memory = memory.NewBudget(8 << 10)
	for tags, want := range map[int]int{10: http.StatusOK, 300: http.StatusBadRequest} {
		var list []string
		for i := range tags {
			list = append(list, "thing"+strconv.Itoa(i))
		}
		resp, body := call(t, a, "GET", "/alds/loc-2.v1?["+strings.Join(list, ",")+"]", "")
		if resp.StatusCode != want {
			t.Errorf("%d tags: %d %s", tags, resp.StatusCode, body)
		}
		if used, _ := a.memory.Used(); used != 0 {
			t.Errorf("%d tags: %d bytes were not given back", tags, used)
		}
	}
}
