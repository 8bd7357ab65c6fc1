package delivery

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// logged collects the lines of a log. It is safe for concurrent use.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// receiverSecrets are the secrets in the URLs and headers of requests, in the forms in which an
// answer could contain them.
var receiverSecrets = []string{
	"hush-pass", "hush-query", "hush-token", "hush-bearer",
	"dXNlcjpodXNoLXBhc3M=", // user:hush-pass, as the Authorization header contains it for a URL with a password
}

// broken returns URLs of receivers that fail. The key says how the receiver fails. Each URL
// contains a password and a query.
func broken(t *testing.T) map[string]string {
	t.Helper()
	hide := func(base, path string) string {
		return strings.Replace(base, "http://", "http://user:hush-pass@", 1) + path + "?key=hush-query#hush-token"
	}
	echo := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.URL.RawQuery+" "+r.Header.Get("Authorization"))
		w.Header().Set("Location", "https://other.test/moved?"+r.URL.RawQuery)
		w.Header().Set("Set-Cookie", "session=hush-token")
		w.WriteHeader(http.StatusMovedPermanently)
		_, _ = w.Write([]byte(r.URL.String() + "\n" + r.Header.Get("Authorization")))
	})
	lost := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://user:hush-pass@%zz/?"+r.URL.RawQuery)
		w.WriteHeader(http.StatusFound)
	})
	hang := newSink(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	closed := newSink(t, nil)
	closed.Close()
	return map[string]string{
		"it answers with what it was sent":    hide(echo.URL, "/echo"),
		"it points to no address":             hide(lost.URL, "/lost"),
		"it says nothing":                     hide(hang.URL, "/hang"),
		"nobody listens":                      hide(closed.URL, "/closed"),
		"its name is unknown":                 hide("http://nobody.invalid", "/name"),
		"it speaks no HTTP":                   hide("http://"+babbler(t), "/babble"),
		"its address cannot be read any more": "http://user:hush-pass/more@127.0.0.1/?key=hush-query",
		"its address has a bad escape":        "http://127.0.0.1/%zz?key=hush-query",
	}
}

// babbler starts a server and returns its address. The server answers with the first line of the
// request, which is not a valid HTTP answer.
func babbler(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1024)
			n, _ := c.Read(b)
			line, _, _ := strings.Cut(string(b[:n]), "\r\n")
			_, _ = c.Write([]byte(line + "\r\n\r\n"))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestSecretsOfAReceiverAreNeitherLoggedNorStored(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		log := &logged{}
		f.s.log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		n := f.sender(Options{Timeout: 300 * time.Millisecond, Schedule: []time.Duration{time.Millisecond}})
		names := map[string]string{}
		for name, address := range broken(t) {
			id := f.subscribe(address)
			names[id] = name
			f.enqueue(n, id, 1)
			if strings.Contains(address, "user:") { // the same URL with an authorization header
				id := f.subscribe(address)
				names[id] = name + ", with a header"
				f.exec("UPDATE webhook_subscription SET authorization = ? WHERE id = ?", f.s.box.Seal([]byte("Bearer hush-bearer")), id)
				f.enqueue(n, id, 1)
			}
		}
		f.eventually(n, "every attempt has failed", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 2") == len(names)
		})
		for _, hushed := range receiverSecrets {
			if found := lineWith(log.String(), hushed); found != "" {
				t.Errorf("the log shows %s: %s", hushed, found)
			}
		}
		for id, name := range names {
			for what, text := range f.stored(id) {
				for _, hushed := range receiverSecrets {
					if strings.Contains(text, hushed) {
						t.Errorf("%s: the %s shows %s: %s", name, what, hushed, text)
					}
				}
			}
		}
	})
}

// stored returns all texts that are stored about the first attempt of a subscription. The key says
// what the text is.
func (f *fixture) stored(subscription string) map[string]string {
	f.Helper()
	text := map[string]string{}
	var address, response, headers, last string
	err := f.d.QueryRow(f.Context(), `SELECT r.url, r.response, COALESCE(r.headers, ''), COALESCE(d.last_error, '')
		FROM webhook_receipt r JOIN webhook_delivery d ON d.id = r.delivery_id WHERE r.subscription_id = ? ORDER BY r.id LIMIT 1`,
		subscription).Scan(&address, &response, &headers, &last)
	if err != nil {
		f.Fatal(err)
	}
	text["address"], text["response"], text["headers"], text["last error"] = address, response, headers, last
	return text
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

func TestRedactedURL(t *testing.T) {
	for address, want := range map[string]string{
		"http://user:pass@host:8080/a/b?key=1#part": "http://host:8080/a/b",
		"https://host":                    "https://host",
		"/moved?to=here":                  "/moved",
		"http://user:pa/ss@host/":         "",
		"http://host/%zz?key=1":           "",
		"mailto:somebody@host?subject=pw": "mailto:",
	} {
		if got := redactedURL(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestScrub(t *testing.T) {
	u, err := url.Parse("http://user:p%40ssword@host/path?key=abcdef12&n=1")
	if err != nil {
		t.Fatal(err)
	}
	hidden := secretsOf(u, "Bearer tok-tok-tok")
	for text, want := range map[string]string{
		"":                                   "",
		"nothing to hide, n=1":               "nothing to hide, n=1",
		"Bearer tok-tok-tok":                 "[redacted]",
		"token tok-tok-tok, tok-tok":         "token [redacted], tok-tok",
		"/path?key=abcdef12&n=1":             "/path?[redacted]",
		`{"key":"abcdef12"}`:                 `{"key":"[redacted]"}`,
		"p@ssword and p%40ssword":            "[redacted] and [redacted]",
		"Basic dXNlcjpwQHNzd29yZA== as sent": "Basic [redacted] as sent",
	} {
		if got := hidden.scrub(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestAnAnswerIsCutOffWithoutAPartOfASecret cuts an answer off in the middle of a secret. The
// stored answer must contain no part of the secret. The number of bytes before the secret must not
// matter.
func TestAnAnswerIsCutOffWithoutAPartOfASecret(t *testing.T) {
	hidden := secretTexts{"Bearer tök-tok-tok", "tök-tok-tok", "abc"}
	secret := hidden[0]
	for cut := range len(secret) + 1 {
		for name, before := range map[string]string{
			"plain":              strings.Repeat("x", maxAnswer-cut),
			"with others before": strings.Repeat(secret, 50) + strings.Repeat("x", maxAnswer-cut-50*len(secret)),
		} {
			got := storedAnswer([]byte(before + secret + "more")[:maxAnswer+1], true, hidden)
			if end := strings.TrimRight(got, "x"); strings.HasSuffix(end, "B") || strings.Contains(end, "Be") || strings.Contains(end, "t\uFFFD") || strings.Contains(end, "tok") {
				t.Errorf("%s, cut after %d bytes of the secret: it ends with %q", name, cut, got[max(0, len(got)-40):])
			}
		}
	}
	if got := storedAnswer([]byte("the name is Bea"), false, hidden); got != "the name is " {
		t.Errorf("an answer that broke off: %q", got)
	}
	if got := storedAnswer([]byte("the name is Bea"), true, hidden); got != "the name is Bea" {
		t.Errorf("a whole answer: %q", got)
	}
	if got := storedAnswer([]byte("a\xffb tok\x00"), true, secretTexts{"a\xffb tok"}); got != "[redacted]\uFFFD" {
		t.Errorf("a secret that is no text: %q", got)
	}
}

// TestNamesOfHeadersShowNoSecret uses a receiver that puts the query of its URL into the name of a
// header.
func TestNamesOfHeadersShowNoSecret(t *testing.T) {
	hidden := secretTexts{"hush-Query"}
	h := http.Header{}
	h.Set("X-hush-query-Count", "1")
	h.Set("X-Count", "2")
	if got := storedHeaders(h, hidden); got != `{"X-Count":"2"}` {
		t.Errorf("stored are %s", got)
	}
}
