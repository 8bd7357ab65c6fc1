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

// These patterns match values that the service generates and that differ between any two runs.
var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	instants  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+`)
	progress  = regexp.MustCompile(`"progress":\{"state":"(waiting|processing)"`)
	expires   = regexp.MustCompile(`"expires":"[^"]*"`)
	effects   = regexp.MustCompile(`"hidden":\d+,"refused":(\d+)},"summary":"[^"]*"`)
	durations = regexp.MustCompile(`"duration":"00:00:\d\d\.\d{7}","durationSeconds":[0-9.e-]+`)
)

// begun is a time before the first write of this run.
var begun = time.Now().UTC().Add(-time.Minute)

// blank replaces in a reply the values that the service generates: UUIDs of requests and aliases, the
// duration of a request, whether a worker has begun the request, how many hidden changes a plan has
// and when it ends (interface 4.18), and times within this run. Other times stay, among them the CreateDate of hidden assets.
func blank(text string) string {
	text = uuids.ReplaceAllString(text, "<uuid>")
	text = progress.ReplaceAllString(text, `"progress":{"state":"<any>"`)
	text = durations.ReplaceAllString(text, "<duration>")
	text = expires.ReplaceAllString(text, `"expires":"<later>"`)
	text = effects.ReplaceAllString(text, `"hidden":<n>,"refused":$1},"summary":<any>`)
	return instants.ReplaceAllStringFunc(text, func(found string) string {
		if at, err := time.Parse("2006-01-02T15:04:05", found); err == nil && at.After(begun) && at.Before(time.Now().UTC().Add(time.Minute)) {
			return "<now>"
		}
		return found
	})
}

// unasked are headers that do not depend on assets: the date, the id of the request, and the length of the
// body before blank has changed it.
var unasked = []string{"Date", "X-Request-Id", "Content-Length"}

// String returns the text in which replies are compared.
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

// keptWrites is how many ids of writes a service keeps.
const keptWrites = 6

// note stores what later requests use: the cursor of the next page, and the ids of requests.
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
	if r.status == http.StatusOK && answer.RequestID != "" {
		s.wrote = append(s.wrote[max(0, len(s.wrote)-keptWrites+1):], answer.RequestID)
	}
}

// created returns the Oids of the assets that the request has created, according to the reply.
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
