package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'Member.Name":                "Name is required",
		"Violation'NotUnique'Member.Username":           "Username is taken already",
		"Denied'Member.Change":                          "Your role does not allow it: Change",
		"Resolution'Unresolved'Story.Scope":             "Scope names nothing that you see",
		"Violation'Required'A.B; Violation'Invalid'A.C": "B is required; C is not valid",
		"Violation'TooLong'StoryStatus.Name":            "Name is too long",
		"Unknown AssetType: Storry":                     "Unknown AssetType: Storry",
	} {
		if got := Readable(message); got != want {
			t.Errorf("%s is read as %q, want %q", message, got, want)
		}
	}
}

// answers answers each request with the same body.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// TestReadableWithLabels checks that a refusal has the names that people see. If the texts
// cannot be read, it has the names of the interface.
func TestReadableWithLabels(t *testing.T) {
	texts := `{"Violation'Required'Story.Scope": "Project is required", "Violation'Required'Story.Name": "Title is required"}`
	for message, want := range map[string]struct{ read, unread string }{
		"Violation'Required'Story.Name; Violation'Required'Story.Scope": {"Title is required; Project is required", "Name is required; Scope is required"},
		"Violation'Invalid'Story.Parent: a cycle":                       {"Parent is not valid: a cycle", "Parent is not valid: a cycle"},
		"Invalid OID token: Story:1":                                    {"Invalid OID token: Story:1", "Invalid OID token: Story:1"},
	} {
		for answer, want := range map[answers]string{{http.StatusOK, texts}: want.read, {http.StatusForbidden, "{}"}: want.unread} {
			v := &Visit{Site: &Site{api: answer}, Request: httptest.NewRequest(http.MethodGet, "/", nil)}
			v.API = v.Asking("")
			if got := v.Readable(message); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}
