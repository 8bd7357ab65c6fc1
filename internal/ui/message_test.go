package ui

import "testing"

func TestReadable(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'Member.Name":                "Name is required",
		"Violation'NotUnique'Member.Username":           "Username is taken already",
		"Denied'Member.Change":                          "Your role does not allow it: Change",
		"Resolution'Unresolved'Story.Scope":             "Scope names nothing that you see",
		"Violation'Required'A.B; Violation'Invalid'A.C": "B is required; C is not valid",
		"Unknown AssetType: Storry":                     "Unknown AssetType: Storry",
	} {
		if got := Readable(message); got != want {
			t.Errorf("%s is read as %q, want %q", message, got, want)
		}
	}
}
