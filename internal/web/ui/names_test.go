package ui

import "testing"

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"André Agile": "AA", "admin": "a", "Anna Maria van der Berg": "AB", "李 小龍": "李小", "o'neil": "on", "": "?", "  --": "?",
	} {
		if got := Initials(name); got != want {
			t.Errorf("Initials(%q) = %q, want %q", name, got, want)
		}
	}
}
