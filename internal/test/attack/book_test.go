package attack

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// marked is a username with a password, in base64. No answer and no log line may contain it.
const marked = "c2VjcmV0LW1hcmtlcjpzZWNyZXQtbWFya2Vy"

// TestRequestsByTheBook sends requests that two servers could parse differently. The process must answer
// 400 and close the connection. No credentials may appear in an answer or in the log. Package httpapi tests
// the full list of cases; this test sends some of them to a real process.
func TestRequestsByTheBook(t *testing.T) {
	beside(t)
	s := newSite(t, "sqlite", setup{settings: []string{"ALDS_LOG_LEVEL=debug"}})
	head := "POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic " + marked + "\r\n"
	admin := "POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + basic("admin:"+adminPassword) + "\r\n"
	for name, raw := range map[string]string{
		"two lengths":           head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"a length and chunks":   head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an unknown encoding":   head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"a folded encoding":     head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"two encodings":         head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"NUL in a header":       head + "X-A: 1\x002\r\n\r\n",
		"no colon":              head + "nonsense\r\n\r\n",
		"LF in an extension":    admin + "Transfer-Encoding: chunked\r\n\r\n2;x\n{}\r\n0\r\n\r\n",
		"a second one smuggled": admin + "Content-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /alds/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			status, whole := s.raw(t, raw)
			if status != http.StatusBadRequest {
				t.Errorf("answered %d: %s", status, whole)
			}
			s.shows(t, whole)
		})
	}
	s.shows(t, s.log.String())
	s.proc.MustRun()
}

// shows fails the test if the text contains credentials.
func (s *site) shows(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{marked, "secret-marker", strings.TrimPrefix(basic("admin:"+adminPassword), "Basic "), adminPassword} {
		if strings.Contains(text, secret) {
			t.Errorf("credentials appear: %s", text)
		}
	}
}

// raw sends a text unchanged and returns the answer. The server must close the connection after the answer.
func (s *site) raw(t *testing.T, text string) (status int, whole string) {
	t.Helper()
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(giveUp))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("the connection does not end: %v", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(all))), nil)
	if err != nil {
		t.Fatalf("no answer: %q", all)
	}
	defer res.Body.Close()
	return res.StatusCode, string(all)
}

// TestPagesOfOtherSites sends the requests that a browser sends for a page or a form of another website
// (cross-site request forgery). The server must not write anything.
func TestPagesOfOtherSites(t *testing.T) {
	beside(t)
	s := newSite(t, "sqlite", setup{})
	const forged = `{"AssetType":"Story","Name":"Forged","Scope":"Scope:0"}`
	for name, headers := range map[string]string{
		"a foreign origin": "Origin: https://evil.example.com\r\nContent-Type: application/json\r\n",
		"another site":     "Sec-Fetch-Site: cross-site\r\nContent-Type: application/json\r\n",
		"plain text":       "Sec-Fetch-Site: same-origin\r\nContent-Type: text/plain\r\n",
		"a form":           "Origin: http://x\r\nContent-Type: application/x-www-form-urlencoded\r\n",
	} {
		status, answer := s.raw(t, fmt.Sprintf("POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: %s\r\n%sContent-Length: %d\r\n\r\n%s",
			basic("admin:"+adminPassword), headers, len(forged), forged))
		if status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	status, answer, err := s.ask(t.Context(), s.client, "admin:"+adminPassword, http.MethodPost, "/query.v1", []byte(`{"from":"Story","select":["Name"]}`))
	if err != nil || status != http.StatusOK || strings.TrimSpace(string(answer)) != "[[]]" {
		t.Errorf("stories were written: %d %s %v", status, answer, err)
	}
}
