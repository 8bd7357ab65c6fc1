package httpapi

import (
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
)

// TestNamedInHeaders checks that the function lists finds a whole word at any place of any header,
// but not a part of a word.
func TestNamedInHeaders(t *testing.T) {
	for _, c := range []struct {
		headers []string
		want    bool
	}{
		{[]string{"text/xml", "Application/JSON;q=0.5"}, true},
		{[]string{"text/xml, application/json"}, true},
		{[]string{"application/json-patch+json", "application/jsonp", "x/application/json"}, false},
		{nil, false},
	} {
		var all [][]byte
		for _, h := range c.headers {
			all = append(all, []byte(h))
		}
		if got := lists(all, "application/json"); got != c.want {
			t.Errorf("%q: %v", c.headers, got)
		}
	}
}

// TestFormat checks that only writes below rest-1.v1/Data accept XML, with any Content-Type. For
// other paths, the same bytes are parsed as YAML, and memory for YAML is reserved.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		takesXML, yamlType bool
		body               string
		want               document.Format
	}{
		{true, false, "\ufeff <Asset/>", document.XML},
		{true, true, "<Asset/>", document.XML},
		{true, false, "{}", document.JSON},
		{true, false, "a: <Asset/>", document.YAML},
		{false, false, "<Asset/>", document.YAML},
		{false, true, "{}", document.YAML},
		{false, false, "[]", document.JSON},
	} {
		r := &request{takesXML: c.takesXML, yamlType: c.yamlType}
		if got := r.bodyFormat([]byte(c.body)); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
