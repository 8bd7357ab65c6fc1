package spectest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/test/testseed"
)

// hostilePlaces has requests with a place for a value, by kind of place. {path}, {param}, {header} and
// {basic} are replaced by the value as clients encode it there. {string} is replaced by the value as
// content of a JSON string, {xml} by the value as text in XML, and {markup} by the value itself. {story}
// and {hook} are replaced by the ids of an existing story and webhook.
var hostilePlaces = map[string][]string{
	"path": {
		"GET /{path}", "GET /api/asset/{path}", "GET /query.v1/{path}",
		"GET /rest-1.v1/Data/{path}", "GET /rest-1.v1/Data/{path}:1", "GET /rest-1.v1/Data/Story/{path}", "GET /rest-1.v1/Data/Story:{path}",
		"GET /rest-1.v1/Data/Story/{story}/{path}", "GET /rest-1.v1/Data/Story/{story}/1/{path}", "GET /rest-1.oauth.v1/Data/Story/{path}",
		"GET /rest-1.v1/Hist/{path}", "GET /rest-1.v1/Hist/Story/{path}", "GET /rest-1.v1/New/{path}",
		"POST /rest-1.v1/Data/{path}\n\n{\"Attributes\": {}}", "POST /rest-1.v1/Data/Story/{path}\n\n{\"Attributes\": {}}",
		"POST /rest-1.v1/Data/Story/{path}?op=Inactivate",
		"POST /api/webhook/{path}\n\n{}", "POST /api/webhook/delete/{path}", "POST /api/webhook/test/{path}",
		"POST /api/webhook/redeliver/{path}\n\n{\"since\": \"2026-01-01T00:00:00Z\", \"until\": \"2026-01-02T00:00:00Z\"}",
		"GET /api/webhook/status/{path}", "GET /api/webhook/deliveries/{path}", "GET /api/tags/{path}", "GET /api/ProjectRoles/{path}",
	},
	"parameter": {
		"GET /rest-1.v1/Data/Story?sel={param}", "GET /rest-1.v1/Data/Story?where={param}", "GET /rest-1.v1/Data/Story?sort={param}",
		"GET /rest-1.v1/Data/Story?page={param}", "GET /rest-1.v1/Data/Story?find={param}", "GET /rest-1.v1/Data/Story?find=a&findin={param}",
		"GET /rest-1.v1/Data/Story?asof={param}", "GET /rest-1.v1/Data/Story?with={param}", "GET /rest-1.v1/Data/Story?needTotal={param}",
		"GET /rest-1.v1/Data/Story?with=$a={param}&where=Name=$a", "GET /rest-1.v1/Data/Story?{param}={param}",
		"GET /rest-1.v1/Data/Story?where=Name='{param}'", "GET /rest-1.v1/Data/Story?where=Name~='{param}'", "GET /rest-1.v1/Data/Story?where=Description='{param}'",
		"GET /rest-1.v1/Data/Story?where=Number='{param}'", "GET /rest-1.v1/Data/Story?where=Estimate='{param}'", "GET /rest-1.v1/Data/Story?where=CreateDate>'{param}'",
		"GET /rest-1.v1/Data/Story?where=AssetState='{param}'", "GET /rest-1.v1/Data/Story?where=AssetType='{param}'", "GET /rest-1.v1/Data/Story?where=Scope='Scope:{param}'",
		"GET /rest-1.v1/Data/Story?where=Scope.Name='{param}'", "GET /rest-1.v1/Data/Story?where=TaggedWith='{param}'", "GET /rest-1.v1/Data/Story?where=Order>'{param}'",
		"GET /rest-1.v1/Data/Story?where=IsDeleted='{param}'", "GET /rest-1.v1/Data/Story?where=ID='{param}'", "GET /rest-1.v1/Data/Member?where=Username='{param}'",
		"GET /rest-1.v1/Hist/Story/{story}?where=Name='{param}'", "GET /rest-1.v1/Hist/Story/{story}?asof={param}",
		"GET /rest-1.v1/New/Story?ctx={param}", "GET /rest-1.v1/New/Story?ctx=Scope:{param}",
		"POST /rest-1.v1/Data/Story/{story}?op={param}",
		"POST /rest-1.v1/Data/Story?ctx={param}\n\n{\"Attributes\": {\"Name\": {\"value\": \"x\", \"act\": \"set\"}}}",
		"POST /rest-1.v1/Data/Story?ctx={{scope}}&comment={param}\n\n{\"Attributes\": {\"Name\": {\"value\": \"x\", \"act\": \"set\"}}}",
		"POST /rest-1.v1/Data/Story/{story}?op=Inactivate&comment={param}", "POST /rest-1.v1/Data/Story/{story}?op=Reactivate&comment={param}",
		"POST /api/asset?comment={param}\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"x\"}}",
		"POST /api/asset?comment={param}\nPrefer: respond-async\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"y\"}}",
		"POST /api/asset?previewOnly={param}\n\n{}", "POST /api/asset?atomic={param}\n\n{}",
		"GET /api/webhook?page={param}", "GET /api/webhook/deliveries/{hook}?state={param}", "GET /api/webhook/deliveries/{hook}?page={param}",
		"GET /api/ProjectRoles/ByProject?where={param}", "GET /api/ProjectRoles/ByProject?where=Name='{param}'",
		"GET /api/ProjectRoles/ByMember?where={param}", "GET /api/ProjectRoles/ByMember?where=Name='{param}'",
		"GET /api/tags?tag={param}", "GET /api/tags/command/search?term={param}",
	},
	"header": {
		"POST /api/asset\nIdempotency-Key: {header}\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"x\"}}",
		"POST /api/asset\nIdempotency-Key: {header}\nPrefer: respond-async\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"y\"}}",
		"POST /rest-1.v1/Data/Story/{story}\nIdempotency-Key: {header}\n\n{\"Attributes\": {\"Reference\": {\"value\": \"z\", \"act\": \"set\"}}}",
		"POST /api/asset\nIf-Match: {header}\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"x\"}}",
		"POST /api/asset\nPrefer: {header}\n\n{\"from\": \"Story\", \"select\": []}", "POST /api/asset\nContent-Encoding: {header}\n\n{}",
		"POST /api/asset\nContent-Type: {header}\n\n{}", "GET /rest-1.v1/Data/Scope/0\nAccept: {header}", "GET /rest-1.v1/Data/Scope/0\nX-Request-Id: {header}",
		"GET /rest-1.v1/Data/Scope/0\nUser-Agent: {header}", "GET /rest-1.v1/Data/Scope/0\nAuthorization: {header}",
		"GET /rest-1.v1/Data/Scope/0\nAuthorization: Bearer {header}", "GET /rest-1.v1/Data/Scope/0\nAuthorization: Basic {header}",
	},
	"login": {"GET /rest-1.v1/Data/Scope/0\nAuthorization: Basic {basic}"},
	"body": {
		"POST /api/asset\n\n{string}", "POST /api/asset\n\n\"{string}\"", "POST /api/asset\n\n{\"{string}\": 1}", "POST /api/asset\n\n{\"@{string}\": {\"from\": \"Story\", \"select\": []}}",
		"POST /api/asset\n\n{\"AssetType\": \"{string}\"}", "POST /api/asset\n\n{\"AssetType\": \"Story\", \"Scope\": \"{{scope}}\", \"Name\": \"{string}\"}",
		"POST /api/asset\n\n{\"AssetType\": \"Story\", \"Scope\": \"{string}\", \"Name\": \"x\"}", "POST /api/asset\n\n{\"AssetType\": \"Story\", \"Scope\": \"Scope:{string}\", \"Name\": \"x\"}",
		"POST /api/asset\n\n[{\"@{string}\": {\"AssetType\": \"Story\", \"Scope\": \"{{scope}}\", \"Name\": \"x\"}}, {\"from\": \"@{string}\", \"update\": {\"Super\": \"@{string}\"}}]",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Name\": \"{string}\", \"Description\": \"{string}\"}}",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Reference\": \"{string}\"}}", "POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Status\": \"{string}\"}}",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Owners\": [\"{string}\"]}}", "POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"TaggedWith\": [\"{string}\"]}}",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Estimate\": \"{string}\"}}", "POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Order\": {\"Before\": \"{string}\"}}}",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"{string}\": \"x\"}}", "POST /api/asset\n\n{\"from\": \"Story:{story}\", \"update\": {\"Name\": {\"find\": \"{string}\", \"replace\": \"{string}\"}}}",
		"POST /api/asset\n\n{\"from\": \"{string}\", \"update\": {\"Name\": \"x\"}}", "POST /api/asset\n\n{\"from\": \"Story:{string}\", \"update\": {\"Name\": \"x\"}}", "POST /api/asset\n\n{\"oid\": \"{string}\", \"execute\": \"Inactivate\"}",
		"POST /api/asset\n\n{\"from\": \"Story:{story}\", \"execute\": \"{string}\"}", "POST /api/asset\n\n{\"from\": \"{{scope}}\", \"execute\": {\"op\": \"AssignMemberWithRole\", \"args\": {\"Member\": \"{string}\", \"Role\": \"{string}\"}}}",
		"POST /api/asset\n\n{\"AssetType\": \"Member\", \"Name\": \"x\", \"Nickname\": \"x\", \"DefaultRole\": \"Role:4\", \"Username\": \"{string}\", \"Password\": \"{string}\"}",
		"POST /api/asset\n\n[{\"config\": \"{string}\"}, {\"from\": \"Story\", \"select\": []}]",
		"POST /query.v1\n\n{\"from\": \"{string}\"}", "POST /query.v1\n\n{\"from\": \"Story\", \"select\": [\"{string}\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"where\": {\"Name\": \"{string}\"}}",
		"POST /query.v1\n\n{\"from\": \"Story\", \"where\": {\"{string}\": \"x\"}}", "POST /query.v1\n\n{\"from\": \"Story\", \"where\": {\"Scope.Name\": [\"{string}\", \"x\"]}}", "POST /query.v1\n\n{\"from\": \"Story\", \"where\": {\"TaggedWith\": \"{string}\"}}",
		"POST /query.v1\n\n{\"from\": \"Story\", \"where\": {\"Estimate\": \"{string}\", \"CreateDate\": \"{string}\"}}",
		"POST /query.v1\n\n{\"from\": \"Story\", \"filter\": [\"Name='{string}'\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"filter\": [\"{string}\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"filter\": [\"Name=$a\"], \"with\": {\"$a\": \"{string}\"}}",
		"POST /query.v1\n\n{\"from\": \"Story\", \"find\": \"{string}\", \"findin\": [\"Name\", \"Description\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"sort\": [\"{string}\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"asof\": \"{string}\"}",
		"POST /query.v1\n\n{\"from\": \"Story\", \"group\": [\"{string}\"]}", "POST /query.v1\n\n{\"from\": \"Story\", \"page\": {\"size\": 1, \"after\": \"{string}\"}}",
		"POST /api/webhook\n\n{\"url\": \"{string}\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/{string}\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"webhookId\": \"{string}\", \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"authorizationHeader\": \"{string}\", \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"secret\": \"{string}\", \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"eventTypes\": [{\"type\": \"{string}\", \"from\": \"{string}\"}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\", \"filter\": [\"Name='{string}'\"]}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\", \"filter\": [\"Name=$a\"], \"with\": {\"$a\": \"{string}\"}}]}",
		"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\", \"userContext\": \"{string}\"}]}",
		"POST /api/webhook/{hook}\n\n{\"description\": \"{string}\"}",
		"POST /api/webhook/redeliver/{hook}\n\n{\"delivery\": \"{string}\"}", "POST /api/webhook/redeliver/{hook}\n\n{\"receipt\": \"{string}\"}", "POST /api/webhook/redeliver/{hook}\n\n{\"since\": \"{string}\", \"until\": \"{string}\"}",
		"POST /api/tags/command/merge\n\n{\"from\": [\"{string}\"], \"to\": \"{string}\"}", "POST /api/tags/command/remove\n\n{\"tag\": \"{string}\"}", "POST /api/tags/command/remove\n\n{\"tags\": [\"{string}\"]}",
		"POST /rest-1.v1/Data/Story/{story}\n\n{\"Attributes\": {\"{string}\": {\"value\": \"x\", \"act\": \"set\"}}}", "POST /rest-1.v1/Data/Story/{story}\n\n{\"Attributes\": {\"Name\": {\"value\": \"{string}\", \"act\": \"set\"}}}",
		"POST /rest-1.v1/Data/Story/{story}\n\n{\"Attributes\": {\"Name\": {\"value\": \"x\", \"act\": \"{string}\"}}}", "POST /rest-1.v1/Data/Story/{story}\n\n{\"Attributes\": {\"Owners\": {\"value\": [{\"idref\": \"{string}\", \"act\": \"add\"}]}}}",
		"POST /rest-1.v1/Data/Story/{story}\n\n{\"Attributes\": {\"TaggedWith\": [{\"value\": \"{string}\", \"act\": \"add\"}]}}",
		"POST /rest-1.v1/Data/Story/{story}\n\n<Asset><Attribute name=\"Name\">{xml}</Attribute></Asset>", "POST /rest-1.v1/Data/Story/{story}\n\n<Asset><Attribute name=\"{xml}\" act=\"{xml}\">x</Attribute></Asset>",
		"POST /rest-1.v1/Data/Story/{story}\n\n<Asset><Relation name=\"Owners\"><Asset idref=\"{xml}\" act=\"add\"/></Relation></Asset>", "POST /rest-1.v1/Data/Story/{story}\n\n<Asset><Attribute name=\"TaggedWith\"><Value>{xml}</Value></Attribute></Asset>",
		"POST /rest-1.v1/Data/Story/{story}\n\n<Asset>{markup}</Asset>", "POST /rest-1.v1/Data/Story/{story}\n\n<{markup}/>",
	},
}

// hostileValue is a value to send, with a description.
type hostileValue struct{ what, value string }

// hostileValues are the values that are sent in every place.
var hostileValues = []hostileValue{
	{"an accent", "é"},
	{"four bytes", "🍎"},
	{"four bytes in a place for an id", "00000000-0000-0000-0000-00000000000🍎"},
	{"an id in capitals", "00000000-0000-0000-0000-00000000000A"},
	{"the last character", "\U0010ffff"},
	{"no character", "\uffff"},
	{"combining", "e\u0301\u0301"},
	{"right to left", "\u202eabc"},
	{"zero width", "a\u200bb"},
	{"a byte order mark", "\ufeffa"},
	{"a byte that is none", "\xff"},
	{"half a character", "abc\xe2\x82"},
	{"overlong", "\xc0\xaf"},
	{"overlong NUL", "\xc0\x80"},
	{"a lone surrogate", "\xed\xa0\x80"},
	{"beyond Unicode", "\xf4\x90\x80\x80"},
	{"Latin 1", "M\xfcller"},
	{"NUL", "a\x00b"},
	{"control characters", "\x01\x1b\x7f"},
	{"line breaks", "a\r\nb"},
	{"a tab", "a\tb"},
	{"quotes", `'"` + "`"},
	{"two quotes", "''"},
	{"a backslash at the end", `a\`},
	{"SQL", "1' OR '1'='1' -- "},
	{"a pattern", "%_*%"},
	{"brackets", "[({"},
	{"a number", "9223372036854775808"},
	{"a negative number", "-9223372036854775809"},
	{"an exponent", "1e400"},
	{"not a number", "NaN"},
	{"an instant beyond", "9999-12-31T23:59:59.9999999Z"},
	{"the year zero", "0000-01-01"},
	{"300 bytes", strings.Repeat("a", 300)},
	{"300 characters of four bytes", strings.Repeat("🍎", 300)},
	{"5,000 bytes", strings.Repeat("b", 5000)},
	{"10,000 bytes", strings.Repeat("k", 10_000)},
	{"nothing", ""},
	{"a space", " "},
	{"a colon", "::"},
	{"a slash", "a/../b"},
}

// shareOnServer is a number n: with -short on MariaDB or MySQL, each place gets only every n-th value.
// Neighboring places get different values, so n places of a kind get all values.
const shareOnServer = 6

// TestHostileValues sends every value in every place, on every database. No answer may have a status of 500
// or more, or contain invalid UTF-8 or invalid XML.
func TestHostileValues(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, token := startService(t, dialect)
			h := newHostile(t, base, token)
			seed, share := testseed.New(t), 1
			if testing.Short() && dialect == "mysql" {
				share = shareOnServer
			}
			first := int(seed % shareOnServer)
			for kind, places := range hostilePlaces {
				t.Run(kind, func(t *testing.T) {
					testseed.Print(t, seed)
					together(indexes(places), func(i int) {
						h.sendAll(t, kind, places[i], share, first+i)
					})
				})
			}
		})
	}
}

// sendAll sends every n-th value to a place, where n is the parameter share. These are the values whose
// index, divided by n, has the same remainder as first.
func (h *hostile) sendAll(t *testing.T, kind, place string, share, first int) {
	t.Helper()
	values := hostileValues
	if kind == "body" {
		values = append(slices.Clone(values), hostileValue{"a million bytes", strings.Repeat("x", 1<<20)})
	}
	for i := first % share; i < len(values); i += share {
		if v := values[i]; kind != "header" || !strings.Contains(v.value, "\n") { // a line break would end the header
			h.send(t, place, v.what, v.value)
		}
	}
}

// hostile sends requests byte by byte over a connection, because an HTTP client refuses to send some of
// them.
type hostile struct {
	*runner
	addr, prefix, token string
	known               *strings.Replacer
}

func newHostile(t *testing.T, base, token string) *hostile {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{runner: &runner{t: t, base: base, vars: map[string]string{"word": "hostile"}}, addr: at.Host, prefix: at.Path, token: token}
	h.makeScope()
	for _, make := range [][2]string{
		{h.fill("POST /api/asset\n\n{\"AssetType\": \"Story\", \"Scope\": \"{{scope}}\", \"Name\": \"x\"}"), "story = assetsCreated.oidTokens.0"},
		{"POST /api/webhook\n\n{\"url\": \"https://example.com/\", \"enabled\": false, \"eventTypes\": [{\"type\": \"AssetCreated\", \"from\": \"Story\"}]}", "hook = id"},
	} {
		if problem := h.ask(make[0]) + h.capture(make[1]); problem != "" {
			t.Fatalf("%s\n%s", problem, h.body)
		}
	}
	h.known = strings.NewReplacer("{story}", h.vars["story.id"], "{hook}", h.vars["hook"], "{{scope}}", h.vars["scope"])
	return h
}

// send sends a request with a value in a place, and checks the answer.
func (h *hostile) send(t *testing.T, place, what, value string) {
	t.Helper()
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\u0000`, "\x01", `\u0001`, "\x1b", `\u001b`, "\r", `\r`, "\n", `\n`, "\t", `\t`).Replace(value)
	text := strings.NewReplacer(
		"{path}", url.PathEscape(value), "{param}", url.QueryEscape(value), "{header}", value, "{string}", quoted,
		"{xml}", strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;").Replace(value), "{markup}", value,
		"{basic}", base64.StdEncoding.EncodeToString([]byte(value+":"+value)),
	).Replace(h.known.Replace(place))
	status, body, err := h.exchange(text)
	switch {
	case err != nil:
		t.Errorf("%s in %q: %v", what, place, err)
	case status >= http.StatusInternalServerError:
		t.Errorf("%s in %q: %d %s", what, place, status, shorten(body))
	case !utf8.Valid(body):
		t.Errorf("%s in %q: the answer is not UTF-8: %d %q", what, place, status, shorten(body))
	case bytes.HasPrefix(body, []byte("<?xml")):
		if err := xml.Unmarshal(body, new(struct{})); err != nil {
			t.Errorf("%s in %q: the answer is no XML: %v: %s", what, place, err, shorten(body))
		}
	}
}

// exchange sends a request on a new connection and returns the answer.
func (h *hostile) exchange(text string) (status int, answer []byte, err error) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	method, path, _ := strings.Cut(first, " ")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", method, h.prefix, path, h.addr, len(body))
	if !strings.Contains(headers, "Authorization:") {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", h.token)
	}
	if headers != "" {
		fmt.Fprintf(&b, "%s\r\n", strings.ReplaceAll(headers, "\n", "\r\n"))
	}
	b.WriteString("\r\n" + body)
	conn, err := net.DialTimeout("tcp", h.addr, 10*time.Second)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return 0, nil, err
	}
	if _, err := conn.Write(b.Bytes()); err != nil {
		return 0, nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// TestInvalidUTF8IsNamed checks that the service refuses a value that is not valid UTF-8. The message must
// name the place of the value, and nothing may change. In a path, an id that does not exist must be
// answered 404, whatever characters it has.
func TestInvalidUTF8IsNamed(t *testing.T) {
	const update = "\n\n{\"from\": \"Story:{story}\", \"update\": {\"Name\": \"changed\"}}"
	cases := []struct {
		request string
		status  int
		message string
	}{
		{"POST /api/asset\nIdempotency-Key: a\xff" + update, 400, "Idempotency-Key is not valid UTF-8"},
		{"POST /api/asset\nIdempotency-Key: M\xfcller\nPrefer: respond-async" + update, 400, "Idempotency-Key is not valid UTF-8"},
		{"POST /rest-1.v1/Data/Story/{story}\nIdempotency-Key: \xed\xa0\x80\n\n{\"Attributes\": {\"Name\": {\"value\": \"changed\", \"act\": \"set\"}}}", 400, "Idempotency-Key is not valid UTF-8"},
		{"POST /api/asset\nIdempotency-Key: " + strings.Repeat("k", 256) + update, 400, "Idempotency-Key has more than 255 bytes"},
		{"POST /api/asset?comment=%ff" + update, 400, "comment is not valid UTF-8"},
		{"POST /rest-1.v1/Data/Story/{story}?op=Delete&Comment=M%fcller", 400, "comment is not valid UTF-8"},
		{"GET /rest-1.v1/Data/Story?where=Name='%c0%80'", 400, "where is not valid UTF-8"},
		{"GET /rest-1.v1/Data/Story?find=%e2%82", 400, "find is not valid UTF-8"},
		{"GET /api/tags?tag=%ff", 400, "tag is not valid UTF-8"},
		{"GET /api/asset/%C3%A9", 404, "Not Found"},
		{"GET /api/asset/%ff", 404, "Not Found"},
		{"POST /api/webhook/delete/%F0%9F%8D%8E", 404, ""},
		{"POST /api/webhook/%C3%A9\n\n{}", 404, ""},
		{"GET /api/webhook/status/00000000-0000-0000-0000-00000000000%C3%A9", 404, ""},
		{"GET /api/webhook/deliveries/%ff", 404, ""},
	}
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, token := startService(t, dialect)
			h := newHostile(t, base, token)
			before := h.everything()
			for _, c := range cases {
				status, body, err := h.exchange(h.known.Replace(c.request))
				if err != nil || status != c.status || !strings.Contains(string(body), `"error":"`+c.message) && !strings.Contains(string(body), `<Message>`+c.message) {
					t.Errorf("%q: %d %s %v, want %d %s", c.request, status, body, err, c.status, c.message)
				}
			}
			if now := h.everything(); now != before {
				t.Errorf("something was written: %s, before %s", now, before)
			}
		})
	}
}
