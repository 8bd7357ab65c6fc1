package webhooks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestDefinitionsOfAForm checks that a form shows definitions in its fields if the fields can
// express the definitions. It also checks that the form sends equal definitions.
func TestDefinitionsOfAForm(t *testing.T) {
	for name, c := range map[string]struct {
		definitions string
		text        bool // they are shown only as text
	}{
		"one":              {`[{"type":"AssetChanged","from":"Story","attributes":["Status"],"filter":["Scope='Scope:0'","Estimate>'2'"],"select":["Name","Number"]}]`, false},
		"both kinds":       {`[{"type":"AssetCreated","from":"Story","userContext":"Member:20"},{"type":"AssetChanged","from":"Story","attributes":["Name"],"userContext":"Member:20"}]`, false},
		"two types":        {`[{"type":"AssetCreated","from":"Story"},{"type":"AssetCreated","from":"Defect"}]`, true},
		"variables":        {`[{"type":"AssetCreated","from":"Story","filter":["Scope=$S"],"with":{"$S":"Scope:0"}}]`, true},
		"a filter of two":  {`[{"type":"AssetCreated","from":"Story","filter":["Name='a\nb'"]}]`, true},
		"the other order":  {`[{"type":"AssetChanged","from":"Story"},{"type":"AssetCreated","from":"Story"}]`, true},
		"what is no list":  {`{"type":1}`, true},
		"nothing":          {`[]`, true},
		"a key to be told": {`[{"type":"AssetCreated","from":"Story","attributes":["Name"]}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f webhookForm
			f.define([]byte(c.definitions))
			if f.AsJSON != c.text {
				t.Fatalf("shown as text: %v", f.AsJSON)
			}
			sent := []byte(f.JSON)
			if !f.AsJSON {
				sent, _ = json.Marshal(f.definitions())
			}
			if !sameJSON(sent, []byte(c.definitions)) {
				t.Errorf("it sends %s", sent)
			}
		})
	}
}

// TestRefusalOfAForm checks that a refusal uses the labels of the form.
func TestRefusalOfAForm(t *testing.T) {
	for message, want := range map[string]string{
		"url is required": "Address is required",
		"webhookId must not be longer than 255 characters": "Name must not be longer than 255 characters",
		"Unknown AttributeDefinition: Story.Nope":          "There is no attribute Story.Nope",
		"Invalid OID token: Member:99":                     "There is no member Member:99",
		"Invalid QueryFilter2 token Nope='1'":              "It cannot be read as a filter of the type: Nope='1'",
		"another one":                                      "another one",
	} {
		if got := (&webhookForm{}).refusal(&ui.Error{Message: message}, 0); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	for want, f := range map[string]webhookForm{
		"Mark when: when assets are created, when they are changed, or both.": {From: "Story"},
		"Write the type of the assets.":                                       {Changed: true},
		"":                                                                    {Changed: true, From: "Story"},
	} {
		if got := f.undefined(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPlaceIn(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "line 1, column 1"},
		{"abc", 2, "line 1, column 3"},
		{"a\r\nbc", 4, "line 2, column 2"},
		{"ä\nü", 4, "line 2, column 2"},
		{"a", 99, "line 1, column 2"},
		{"a", -1, "line 1, column 1"},
	} {
		if got := placeIn(c.text, c.at); got != c.want {
			t.Errorf("%q, %d: %s, want %s", c.text, c.at, got, c.want)
		}
	}
}

func TestLatencyText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 6824 * time.Microsecond: "6 ms", 1500 * time.Millisecond: "1.5 s", 70 * time.Second: "1m10s", 50 * time.Hour: "50h0m0s",
	} {
		if got := latencyText(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

// TestAddress checks that an address is shown without parts that may be secret.
func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"https://example.org/hook":                    "https://example.org/hook",
		"https://user:hidden@example.org/h?k=hidden#": "https://example.org/h",
		"https://[::1]:80/":                           "https://[::1]:80/",
		":":                                           "",
	} {
		w := webhook{URL: given}
		if got := w.Address(); got != want || w.HasHidden() != (given != want) {
			t.Errorf("%s: %s, hidden: %v", given, got, w.HasHidden())
		}
	}
}

func TestShownBody(t *testing.T) {
	long := `"` + strings.Repeat("ä", maxRequest) + `"`
	for given, want := range map[string]struct {
		text string
		cut  bool
	}{
		`{"a":1}`: {"{\n  \"a\": 1\n}", false},
		`no JSON`: {"no JSON", false},
		long:      {long[:maxRequest-1], true}, // not cut within a character
	} {
		if text, cut := shownBody([]byte(given)); text != want.text || cut != want.cut {
			t.Errorf("%.20s: %.20s, %d bytes, cut: %v", given, text, len(text), cut)
		}
	}
}

// TestMissing checks that the unknown attribute of a filter is found at any position of the
// path.
func TestMissing(t *testing.T) {
	model, err := ui.ReadDescribed([]byte(`{"AssetTypes": {
		"Story": {"Token": "Story", "Attributes": {"Story.Name": {"Name": "Name"}, "Story.Status": {"Name": "Status", "AttributeType": "Relation", "RelatedAsset": {"nameref": "StoryStatus"}}}},
		"StoryStatus": {"Token": "StoryStatus", "Attributes": {"StoryStatus.Order": {"Name": "Order"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"Name": "", "Nope": "Story.Nope", "Status.Order": "", "Status.Nope": "StoryStatus.Nope"} {
		if got := missing(model, "Story", path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestAttemptsOfARedelivery checks that attempts before a request to send again do not count
// for the new delivery.
func TestAttemptsOfARedelivery(t *testing.T) {
	asked := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	d := webhookDelivery{CommittedAt: asked.Add(-time.Hour), Since: asked, SettledAt: asked.Add(time.Second)}
	if got := d.Latency(); got != latencyText(time.Second) {
		t.Errorf("the latency is %s", got)
	}
	for at, want := range map[time.Time]bool{asked.Add(-time.Minute): false, asked.Add(time.Second): true} {
		if got := (&webhookReceipt{TimeStamp: at}).IsOf(&d); got != want {
			t.Errorf("an attempt at %s is of it: %t", at, got)
		}
	}
}
