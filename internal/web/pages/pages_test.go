package pages

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/web/ui"
)

// service is a fake of the interface with the parts that the sign-in needs.
type service struct {
	mu       sync.Mutex
	sessions map[string]bool
	made     int
	asked    []string          // method, path and body of each request
	keys     map[string]string // key: Idempotency-Key; value: body of the write
}

// RoundTrip answers a request.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+string(body))
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	status, text := http.StatusOK, `[[{"_oid": "Member:20", "Name": "<script>alert(1)</script>", "Username": "admin", "DefaultRole": {"_oid": "Role:1"}}]]`
	switch basic, _ := base64.StdEncoding.DecodeString(value); {
	case scheme == "Basic" && string(basic) == "admin:a:b":
		s.made++
		session := fmt.Sprintf("1.%d", s.made)
		s.sessions[session] = true
		text = `{"id": "t", "token": "` + session + `", "expires": "2099-01-01T00:00:00Z"}`
	case scheme == "Basic" && strings.HasPrefix(string(basic), "slow:"):
		status, text = http.StatusTooManyRequests, `{"error": "Too many wrong passwords"}`
	case scheme != "Bearer" || !s.sessions[value]:
		status, text = http.StatusUnauthorized, `{"error": "Unknown username or wrong password"}`
	case strings.HasSuffix(r.URL.Path, "/api/tokens/revoke/current"):
		delete(s.sessions, value)
	case strings.HasSuffix(r.URL.Path, "/api/tokens"):
		text = `{"id": "t", "name": "x", "token": "1.new", "tokens": []}`
	case strings.HasSuffix(r.URL.Path, "/api/asset"):
		text = `{}`
		if before, used := s.keys[r.Header.Get("Idempotency-Key")]; used && before != string(body) {
			status, text = http.StatusConflict, `{"error": "The Idempotency-Key was used for another request"}`
		}
		s.keys[r.Header.Get("Idempotency-Key")] = string(body)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// browser is a client with cookies. It returns redirects instead of following them.
type browser struct {
	t    *testing.T
	base string
	http.Client
}

func newBrowser(t *testing.T) (*browser, *service) {
	t.Helper()
	s := &service{sessions: map[string]bool{}, keys: map[string]string{}}
	server := httptest.NewServer(New(s, ui.Options{Instance: "alds", Log: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, base: server.URL + "/alds", Client: http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return b, s
}

// reply is the answer of a page, without its body.
type reply struct {
	status int
	header http.Header
}

func (b *browser) do(method, path string, form url.Values, header ...string) (reply, string) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header}, string(body)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf returns the token of the form on a page.
func (b *browser) csrf(path string) string {
	b.t.Helper()
	_, body := b.do("GET", path, nil)
	m := csrfField.FindStringSubmatch(body)
	if m == nil {
		b.t.Fatalf("%s has no form:\n%s", path, body)
	}
	return m[1]
}

func (b *browser) signIn(username, password, next string) (reply, string) {
	b.t.Helper()
	return b.do("POST", "/ui/sign-in", url.Values{"username": {username}, "password": {password}, "next": {next}, "csrf": {b.csrf("/ui/sign-in")}})
}

func (b *browser) session() string {
	u, err := url.Parse(b.base + "/")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(u) {
		if c.Name == ".V1.Ticket.alds" {
			return c.Value
		}
	}
	return ""
}

func TestSignIn(t *testing.T) {
	b, s := newBrowser(t)
	if resp, _ := b.do("GET", "/ui/profile?x=1", nil); resp.status != http.StatusSeeOther || resp.header.Get("Location") != "/alds/ui/sign-in?next=%2Falds%2Fui%2Fprofile%3Fx%3D1" {
		t.Errorf("a stranger is led to %s", resp.header.Get("Location"))
	}
	if resp, body := b.signIn("admin", "wrong", ""); resp.status != http.StatusUnauthorized || !strings.Contains(body, "wrong password") || strings.Contains(body, `value="wrong"`) || b.session() != "" {
		t.Errorf("a wrong password: %d, session %q\n%s", resp.status, b.session(), body)
	}
	if resp, body := b.signIn("slow", "x", ""); resp.status != http.StatusTooManyRequests || !strings.Contains(body, "Too many") {
		t.Errorf("too many wrong passwords: %d\n%s", resp.status, body)
	}
	resp, _ := b.signIn("admin", "a:b", "/alds/ui/profile?x=1")
	if resp.status != http.StatusSeeOther || resp.header.Get("Location") != "/alds/ui/profile?x=1" || b.session() != "1.1" {
		t.Errorf("signed in: %d to %s, session %q", resp.status, resp.header.Get("Location"), b.session())
	}
	cookie := resp.header.Get("Set-Cookie")
	for _, want := range []string{"; HttpOnly", "; SameSite=Lax", "; Path=/alds/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the session's cookie lacks %q: %s", want, cookie)
		}
	}
	if _, body := b.do("GET", "/ui/applications", nil); strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("the reader's name is written as HTML:\n%s", body)
	}
	if b.signIn("admin", "a:b", ""); b.session() != "1.2" || s.sessions["1.1"] || !s.sessions["1.2"] {
		t.Errorf("a second sign-in: session %q, %v count", b.session(), s.sessions)
	}
	if resp, _ := b.do("POST", "/ui/sign-out", url.Values{"csrf": {b.csrf("/ui/applications")}}); resp.status != http.StatusSeeOther || b.session() != "" || len(s.sessions) != 0 {
		t.Errorf("signed out: %d, session %q, %v count", resp.status, b.session(), s.sessions)
	}
}

// TestASessionThatEnded checks that a page redirects to the sign-in and deletes the cookie
// after the session has ended.
func TestASessionThatEnded(t *testing.T) {
	b, s := newBrowser(t)
	b.signIn("admin", "a:b", "")
	delete(s.sessions, "1.1")
	if resp, _ := b.do("GET", "/ui/applications", nil); resp.status != http.StatusSeeOther || b.session() != "" {
		t.Errorf("%d, session %q", resp.status, b.session())
	}
	if resp, _ := b.do("GET", "/ui/applications", nil, "HX-Request", "true"); resp.header.Get("HX-Redirect") == "" {
		t.Errorf("the script is led nowhere: %d %v", resp.status, resp.header)
	}
}

// TestForgedForms checks that a form is refused unless a page of the same session made it.
func TestForgedForms(t *testing.T) {
	b, s := newBrowser(t)
	b.signIn("admin", "a:b", "")
	other, _ := newBrowser(t)
	other.signIn("admin", "a:b", "")
	other.signIn("admin", "a:b", "") // token 1.2, so that the sessions of the two services differ
	good := func() url.Values {
		return url.Values{"csrf": {b.csrf("/ui/applications")}, "name": {"x"}}
	}
	for why, c := range map[string]struct {
		form   url.Values
		header []string
	}{
		"no token":                {url.Values{"name": {"x"}}, nil},
		"an empty token":          {url.Values{"name": {"x"}, "csrf": {""}}, nil},
		"a token cut short":       {url.Values{"name": {"x"}, "csrf": {good().Get("csrf")[:20]}}, nil},
		"a token of another":      {url.Values{"name": {"x"}, "csrf": {other.csrf("/ui/applications")}}, nil},
		"a token of no session":   {url.Values{"name": {"x"}, "csrf": {ui.FormToken("")}}, nil},
		"a page of another site":  {good(), []string{"Sec-Fetch-Site", "cross-site"}},
		"a page of a subdomain":   {good(), []string{"Sec-Fetch-Site", "same-site"}},
		"an origin of elsewhere":  {good(), []string{"Origin", "https://evil.example"}},
		"the origin of a sandbox": {good(), []string{"Origin", "null"}},
	} {
		t.Run(why, func(t *testing.T) {
			before := len(s.asked)
			resp, body := b.do("POST", "/ui/applications", c.form, c.header...)
			if resp.status != http.StatusForbidden {
				t.Errorf("%d\n%s", resp.status, body)
			}
			for _, asked := range s.asked[before:] {
				if strings.HasPrefix(asked, "POST /alds/api/") {
					t.Errorf("asked %s", asked)
				}
			}
		})
	}
	if resp, _ := b.do("POST", "/ui/applications", good()); resp.status != http.StatusOK {
		t.Errorf("a good form: %d", resp.status)
	}
	if resp, _ := b.do("POST", "/ui/sign-in", url.Values{"username": {"admin"}, "password": {"a:b"}}); resp.status != http.StatusForbidden || b.session() != "1.1" {
		t.Errorf("a sign-in that no page made: %d, session %q", resp.status, b.session())
	}
}

// TestAFormSentTwice checks that a second submission creates nothing, unless the input or the
// token of the form has changed.
func TestAFormSentTwice(t *testing.T) {
	b, s := newBrowser(t)
	b.signIn("admin", "a:b", "")
	made := func() (n int) {
		for _, asked := range s.asked {
			if strings.HasPrefix(asked, `POST /alds/api/tokens {"bounds"`) {
				n++
			}
		}
		return n
	}
	form := url.Values{"csrf": {b.csrf("/ui/applications")}, "name": {"x"}}
	if resp, body := b.do("POST", "/ui/applications", form); resp.status != http.StatusOK || !strings.Contains(body, "1.new") || resp.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the first time: %d %v\n%s", resp.status, resp.header, body)
	}
	resp, body := b.do("POST", "/ui/applications", form)
	if resp.status != http.StatusConflict || !strings.Contains(body, "This form was sent before") || !strings.Contains(body, `name="name" value="x"`) || made() != 1 {
		t.Errorf("the second time: %d, %d tokens\n%s", resp.status, made(), body)
	}
	form.Set("name", "another")
	if resp, _ := b.do("POST", "/ui/applications", form); resp.status != http.StatusOK || made() != 2 {
		t.Errorf("filled in anew: %d, %d tokens", resp.status, made())
	}
	form.Set("csrf", csrfField.FindStringSubmatch(body)[1])
	form.Set("name", "x")
	if resp, _ := b.do("POST", "/ui/applications", form); resp.status != http.StatusOK || made() != 3 {
		t.Errorf("from the page that was shown again: %d, %d tokens", resp.status, made())
	}
}

// TestEveryAnswerIsProtected checks the security headers, also for answers of the router.
func TestEveryAnswerIsProtected(t *testing.T) {
	b, _ := newBrowser(t)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/ui/sign-in", http.StatusOK},
		{http.MethodGet, "/ui", http.StatusTemporaryRedirect},
		{http.MethodGet, "/ui//profile", http.StatusTemporaryRedirect},
		{http.MethodGet, "/ui/nothing", http.StatusSeeOther},
		{http.MethodPut, "/ui/sign-in", http.StatusSeeOther},
		{http.MethodGet, "/ui/static/x/none.css", http.StatusNotFound},
	} {
		got, _ := b.do(c.method, c.path, nil)
		if got.status != c.status || !strings.Contains(got.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s %s: %d %v", c.method, c.path, got.status, got.header)
		}
	}
}
