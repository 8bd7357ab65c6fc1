package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func basicOf(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

const scrapeToken = "0123456789abcdef0123456789abcdef"

// scraped returns an API that serves metrics for a token, or no metrics if the token is empty.
func scraped(token string, metrics http.HandlerFunc, log *bytes.Buffer) *API {
	a := New(fixed(Engines{Credentials: engines{}}), Options{
		Instance: "alds", MaxBody: maxBody, Log: slog.New(slog.NewJSONHandler(log, nil)),
		Scrape: Scrape{Token: token, Metrics: metrics},
	})
	a.refusalDelay = 0
	return a
}

// TestScrape checks that metrics need the token and accept no other credentials, and that
// there are no metrics if no token is set.
func TestScrape(t *testing.T) {
	var log bytes.Buffer
	metrics := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = fmt.Fprintf(w, "some_metric 1 accept=%s cookie=%s", r.Header.Get("Accept"), r.Header.Get("Cookie"))
	}
	for _, c := range []struct {
		why, token, method, path, header string
		status                           int
		body                             string
	}{
		{"the token", scrapeToken, "GET", "/metrics", "Bearer " + scrapeToken, 200, "some_metric 1 accept=text/plain cookie="},
		{"its scheme in small letters", scrapeToken, "GET", "/metrics", "bearer  " + scrapeToken, 200, "some_metric 1"},
		{"another spelling of the path", scrapeToken, "GET", "//Metrics/", "Bearer " + scrapeToken, 200, "some_metric 1"},
		{"none", scrapeToken, "GET", "/metrics", "", 401, "Authentication is required"},
		{"another token", scrapeToken, "GET", "/metrics", "Bearer " + strings.Repeat("0", 32), 401, "not valid"},
		{"its beginning", scrapeToken, "GET", "/metrics", "Bearer " + scrapeToken[:31], 401, "not valid"},
		{"it and more", scrapeToken, "GET", "/metrics", "Bearer " + scrapeToken + "0", 401, "not valid"},
		{"it in capitals", scrapeToken, "GET", "/metrics", "Bearer " + strings.ToUpper(scrapeToken), 401, "not valid"},
		{"no token after the scheme", scrapeToken, "GET", "/metrics", "Bearer ", 401, "Authentication is required"},
		{"it as a password", scrapeToken, "GET", "/metrics", basicOf("metrics", scrapeToken), 401, "Authentication is required"},
		{"a member", scrapeToken, "GET", "/metrics", basicOf("admin", "a:b"), 401, "Authentication is required"},
		{"a member's token", scrapeToken, "GET", "/metrics", "Bearer 1.good", 401, "not valid"},
		{"in the URL", scrapeToken, "GET", "/metrics?token=" + scrapeToken, "", 401, "Authentication is required"},
		{"a write", scrapeToken, "POST", "/metrics", "Bearer " + scrapeToken, 405, "Method Not Allowed"},
		{"HEAD", scrapeToken, "HEAD", "/metrics", "Bearer " + scrapeToken, 405, ""},
		{"within the instance", scrapeToken, "GET", "/alds/metrics", basicOf("admin", "a:b"), 404, "Not Found"},
		{"it for a member's path", scrapeToken, "GET", "/alds/api/webhook", "Bearer " + scrapeToken, 401, "not valid"},
		{"not set", "", "GET", "/metrics", "Bearer " + scrapeToken, 404, "Not Found"},
		{"not set, an empty token", "", "GET", "/metrics", "Bearer ", 404, "Not Found"},
		{"not set, a write", "", "POST", "/metrics", "", 404, "Not Found"},
	} {
		a := scraped(c.token, metrics, &log)
		resp, body := call(t, a, c.method, c.path, "", "Authorization", c.header, "Accept", "text/plain", "Cookie", "a=b")
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
		if got := resp.Header.Get("WWW-Authenticate"); c.status == 401 && strings.HasPrefix(c.path, "/metrics") && got != `Bearer realm="metrics"` {
			t.Errorf("%s: asks for %s", c.why, got)
		}
	}
	if text := log.String(); strings.Contains(text, scrapeToken) || strings.Contains(text, scrapeToken[:31]) || !strings.Contains(text, `"route":"metrics"`) {
		t.Errorf("the log has the token, or not the route:\n%s", text)
	}
}

// TestScrapesAreBounded checks that few requests with the token are served at the same time, and
// that a request without the token collects no metrics.
func TestScrapesAreBounded(t *testing.T) {
	begun, end := make(chan bool, 100), make(chan bool)
	var log bytes.Buffer
	a := scraped(scrapeToken, func(http.ResponseWriter, *http.Request) { begun <- true; <-end }, &log)
	answers := make(chan int)
	ask := func() {
		resp, _ := call(t, a, "GET", "/metrics", "", "Authorization", "Bearer "+scrapeToken)
		answers <- resp.StatusCode
	}
	go ask()
	<-begun
	const more = 20
	for range more {
		go ask()
	}
	refused := 0
	for range more - scrapeBounds().Line {
		if status := <-answers; status != http.StatusServiceUnavailable {
			t.Errorf("one too many was answered %d", status)
		}
		refused++
	}
	if resp, _ := call(t, a, "GET", "/metrics", "", "Authorization", "Bearer wrong"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %d", resp.StatusCode)
	}
	if len(begun) != 0 {
		t.Errorf("%d are collected at once", 1+len(begun))
	}
	close(end)
	for range more + 1 - refused {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("one whose turn came was answered %d", status)
		}
	}
}
