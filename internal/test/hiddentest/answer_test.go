package hiddentest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What the service makes up, and so differs between any two runs.
var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	instants  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+`)
	progress  = regexp.MustCompile(`"progress":\{"state":"(waiting|processing)"`)
	durations = regexp.MustCompile(`"duration":"00:00:\d\d\.\d{7}","durationSeconds":[0-9.e-]+`)
)

// begun is before anything that a run writes.
var begun = time.Now().UTC().Add(-time.Minute)

// blank leaves out of an answer what the service makes up: UUIDs of requests and
// aliases, how long a request took, whether a worker had begun with it, and instants
// of this run. Other instants stay, and hidden assets have such.
func blank(text string) string {
	text = uuids.ReplaceAllString(text, "<uuid>")
	text = progress.ReplaceAllString(text, `"progress":{"state":"<any>"`)
	text = durations.ReplaceAllString(text, "<duration>")
	return instants.ReplaceAllStringFunc(text, func(found string) string {
		if at, err := time.Parse("2006-01-02T15:04:05", found); err == nil && at.After(begun) && at.Before(time.Now().UTC().Add(time.Minute)) {
			return "<now>"
		}
		return found
	})
}

// unasked are headers that say nothing about assets: when, which request, and how
// long the unblanked body is.
var unasked = []string{"Date", "X-Request-Id", "Content-Length"}

// String is the reply as it is compared.
func (r reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.status)
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		if !slices.Contains(unasked, http.CanonicalHeaderKey(name)) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.header[name], ", "))
		}
	}
	return blank(b.String() + "\n" + r.body)
}

// note keeps what later requests name: the next cursor and the id of an
// asynchronous request.
func (s *service) note(r reply) {
	var pages []struct{ Next *string }
	var answer struct {
		RequestID   string
		Processing  bool
		QueryResult struct{ Pages json.RawMessage }
	}
	text := []byte(r.header.Get("Alds-Result"))
	if len(text) == 0 && json.Unmarshal([]byte(r.body), &answer) == nil {
		text = answer.QueryResult.Pages
	}
	if json.Unmarshal(text, &pages) == nil && len(pages) > 0 && pages[0].Next != nil {
		s.next = *pages[0].Next
	}
	if r.status == http.StatusAccepted {
		s.later = answer.RequestID
	}
}

// created are the Oids of the assets that a reply says were made.
func (r reply) created() []string {
	var answer struct {
		AssetsCreated struct{ OidTokens []string }
		ID            string
	}
	if json.Unmarshal([]byte(r.body), &answer) != nil {
		return nil
	}
	return answer.AssetsCreated.OidTokens
}
