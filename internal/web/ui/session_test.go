package ui

import "testing"

func TestOwnPath(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "/alds/ui/",
		"/alds/ui/profile?x=1&y=%2F":       "/alds/ui/profile?x=1&y=%2F",
		"/alds/assetdetail.v1?oid=Story:1": "/alds/assetdetail.v1?oid=Story:1",
		"https://evil.example/alds/":       "/alds/ui/",
		"//evil.example/alds/ui/":          "/alds/ui/",
		"///evil.example/alds/":            "/alds/ui/",
		`/\evil.example/alds/`:             "/alds/ui/",
		`/alds/\evil`:                      "/alds/ui/",
		"/other/ui":                        "/alds/ui/",
		"javascript:alert(1)":              "/alds/ui/",
		"alds/ui/profile":                  "/alds/ui/",
		"/alds/ui\r\nSet-Cookie: a":        "/alds/ui/",
		"/alds/../../evil":                 "/alds/ui/",
		"/alds/%2e%2e/evil":                "/alds/ui/",
		"%zz":                              "/alds/ui/",
	} {
		if got := (&Site{Base: "/alds"}).OwnPath(text); got != want {
			t.Errorf("%q leads to %s, want %s", text, got, want)
		}
	}
	if got := (&Site{}).OwnPath("//evil.example/ui/"); got != "/ui/" {
		t.Errorf("without an instance //evil.example/ui/ leads to %s", got)
	}
}
