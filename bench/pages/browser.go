package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// browser requests pages like a browser, with a session. It also sends requests like a
// program, with the same token.
type browser struct {
	origin, base, session string
	client                http.Client
}

func newBrowser(site *rig.Site) (*browser, error) {
	var made struct {
		Token string `json:"token"`
	}
	err := site.Post("/api/tokens", map[string]any{"session": true}, &made)
	return &browser{origin: "http://" + site.Addr, base: site.Base, session: made.Token}, err
}

// got is a received page.
type got struct {
	text      string
	bytes     int // as transferred
	firstByte time.Duration
}

// get requests a page below the instance.
func (b *browser) get(path string) (got, error) {
	req, err := http.NewRequest(http.MethodGet, b.base+path, nil)
	if err != nil {
		return got{}, err
	}
	req.Header.Set("Accept", "text/html")
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("Cookie", ".V1.Ticket.alds="+b.session)
	var g got
	began := time.Now()
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { g.firstByte = time.Since(began) }}
	res, err := b.client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		return g, err
	}
	defer res.Body.Close()
	packed, err := io.ReadAll(res.Body)
	if err != nil {
		return g, err
	}
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != req.URL.Path {
		return g, fmt.Errorf("%s answered %d at %s", path, res.StatusCode, res.Request.URL)
	}
	g.bytes, g.text = len(packed), string(packed)
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return g, err
		}
		text, err := io.ReadAll(z)
		if err != nil {
			return g, err
		}
		g.text = string(text)
	}
	return g, nil
}

// request is a request in the footer of a page.
type request struct{ method, path, body string }

var (
	footer = regexp.MustCompile(`(?s)<footer>.*</footer>`)
	named  = regexp.MustCompile(`(?s)<pre tabindex="0"><code>(GET|POST) ([^\s<]+)(.*?)</code></pre>`)
	forms  = regexp.MustCompile(`(?s)Its forms send.*`)
)

// requestsOf returns the requests in the footer of a page, without the requests of its forms.
func requestsOf(page string) (all []request) {
	for _, m := range named.FindAllStringSubmatch(forms.ReplaceAllString(footer.FindString(page), ""), -1) {
		all = append(all, request{m[1], html.UnescapeString(m[2]), strings.TrimSpace(html.UnescapeString(m[3]))})
	}
	return all
}

// send sends requests one after another, decodes their answers like a program, and returns the
// total time.
func (b *browser) send(requests []request) (time.Duration, error) {
	began := time.Now()
	for _, r := range requests {
		req, err := http.NewRequest(r.method, b.origin+r.path, strings.NewReader(r.body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Authorization", "Bearer "+b.session)
		if r.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := b.client.Do(req)
		if err != nil {
			return 0, err
		}
		var answer any
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("%s %s answered %d: %w", r.method, r.path, res.StatusCode, err)
		}
	}
	return time.Since(began), nil
}
