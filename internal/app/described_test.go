package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// described has the fields of the log line about a model that was described.
type described struct {
	Msg, Format, ETag string
	Generation        int64
}

// describedAfter waits until a model is described in a format. The generation of this model must be
// later than the argument generation.
func (r *running) describedAfter(generation int64, format string) (d described) {
	r.t.Helper()
	for until := time.After(time.Minute); ; {
		select {
		case text := <-r.lines.all:
			d = described{}
			if json.Unmarshal([]byte(text), &d) == nil && d.Msg == "the model is described" && d.Format == format && d.Generation > generation {
				return d
			}
		case <-until:
			r.t.Fatalf("no model after generation %d was described as %s", generation, format)
		}
	}
}

// TestTheModelIsDescribedBeforeItIsAskedFor checks that the first model, and the model with a new
// attribute, are described before any request. The request that follows gets the description.
func TestTheModelIsDescribedBeforeItIsAskedFor(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0", "ALDS_LOG_LEVEL": "debug"}, Standalone)
	first := r.describedAfter(0, "json")
	r.bulk(`[{"AssetType": "AttributeDefinition", "Name": "Custom_Weight", "Asset": "Story", "AttributeType": "Numeric"}]`)
	grown := r.describedAfter(first.Generation, "json")
	if as := r.describedAfter(first.Generation, "xml"); as.Generation != grown.Generation || as.ETag == grown.ETag {
		t.Errorf("%+v as JSON, %+v as XML", grown, as)
	}
	if grown.ETag == first.ETag {
		t.Error("another model has the same description")
	}
	req, err := http.NewRequest(http.MethodGet, r.base+"/meta.v1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth("admin", adminPassword)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if tag := res.Header.Get("ETag"); !strings.HasPrefix(tag, `"`+grown.ETag) {
		t.Errorf("asked for, it is %s, not %s", tag, grown.ETag)
	}
}
