package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const right = "Authorization: Basic YWRtaW46YTpi\r\n"

// conversation is a connection to an API.
type conversation struct {
	*testing.T
	net.Conn
	r *bufio.Reader
}

func converse(t *testing.T, url string) conversation {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return conversation{t, c, bufio.NewReader(c)}
}

func (c conversation) send(text string) {
	c.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.Fatal(err)
	}
}

// status reads an answer, which may be 100 Continue, and returns its status.
func (c conversation) status() int {
	c.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.Fatal(err)
	}
	var status int
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		c.Fatalf("%q: %v", line, err)
	}
	length := 0
	for line = ""; line != "\r\n"; {
		if line, err = c.r.ReadString('\n'); err != nil {
			c.Fatal(err)
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	if _, err := io.CopyN(io.Discard, c.r, int64(length)); err != nil {
		c.Fatal(err)
	}
	return status
}

// TestEarlyAnswersAreRead checks that a client that sends a large body to its end can read the
// answer, although the server answered before the end. The connection is closed afterwards.
func TestEarlyAnswersAreRead(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.maxRest = 32 << 20
	url, _ := listening(t, a)
	const large = 8 << 20
	for what, c := range map[string]struct {
		head   string
		status int
	}{
		"no credentials":    {"POST /alds/attachment.img/1 HTTP/1.1\r\n", 401},
		"wrong ones":        {"POST /alds/api/asset HTTP/1.1\r\nAuthorization: Bearer 1.bad\r\n", 401},
		"no such URL":       {"POST /alds/nothing HTTP/1.1\r\n" + right, 404},
		"another site":      {"POST /alds/api/asset HTTP/1.1\r\nOrigin: https://evil.example.com\r\n" + right, 403},
		"too large":         {"POST /alds/api/asset HTTP/1.1\r\n" + right, 413},
		"too large, chunks": {"POST /alds/api/asset HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + right, 413},
		"one more request":  {"POST /alds/api/asset HTTP/1.1\r\nConnection: close\r\n", 401},
	} {
		c2 := converse(t, url)
		if strings.Contains(c.head, "chunked") {
			c2.send(c.head + "Host: x\r\n\r\n" + fmt.Sprintf("%x\r\n", large) + strings.Repeat("[", large) + "\r\n0\r\n\r\n")
		} else {
			c2.send(c.head + fmt.Sprintf("Host: x\r\nContent-Length: %d\r\n\r\n", large) + strings.Repeat("[", large))
		}
		if status := c2.status(); status != c.status {
			t.Errorf("%s: %d, want %d", what, status, c.status)
		}
		if _, err := c2.r.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection does not end: %v", what, err)
		}
	}
}

// TestExpect checks that a client that waits for 100 Continue gets it only if the answer
// depends on the body.
func TestExpect(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	url, _ := listening(t, a)
	const expect = "Host: x\r\nExpect: 100-continue\r\nContent-Length: "
	for what, c := range map[string]struct {
		head   string
		status []int
	}{
		"no credentials":    {"POST /alds/api/asset HTTP/1.1\r\n" + expect + "2\r\n\r\n", []int{401}},
		"wrong ones":        {"POST /alds/attachment.img/1 HTTP/1.1\r\nAuthorization: Bearer 1.bad\r\n" + expect + "2\r\n\r\n", []int{401}},
		"no such URL":       {"POST /alds/nothing HTTP/1.1\r\n" + right + expect + "2\r\n\r\n", []int{404}},
		"another site":      {"POST /alds/api/asset HTTP/1.1\r\nOrigin: https://evil.example.com\r\n" + right + expect + "2\r\n\r\n", []int{403}},
		"too large":         {"POST /alds/api/asset HTTP/1.1\r\n" + right + expect + fmt.Sprint(maxBody+1) + "\r\n\r\n", []int{413}},
		"too large content": {"POST /alds/attachment.img/1 HTTP/1.1\r\n" + right + expect + fmt.Sprint(maxBody+1) + "\r\n\r\n", []int{413}},
		"a request":         {"POST /alds/api/asset HTTP/1.1\r\n" + right + expect + "2\r\n\r\n", []int{100, 200}},
		"in chunks":         {"POST /alds/api/asset HTTP/1.1\r\n" + right + "Host: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", []int{100, 200}},
		"a content":         {"POST /alds/attachment.img/1 HTTP/1.1\r\n" + right + expect + "2\r\n\r\n", []int{100, 200}},
		"without a body":    {"GET /alds/api/webhook HTTP/1.1\r\n" + right + "Host: x\r\nExpect: 100-continue\r\n\r\n", []int{200}},
	} {
		c2 := converse(t, url)
		c2.send(c.head)
		for _, want := range c.status {
			if status := c2.status(); status != want {
				t.Errorf("%s: %d, want %v", what, status, c.status)
				break
			}
			switch {
			case want == 100 && strings.Contains(c.head, "chunked"):
				c2.send("2\r\n[]\r\n0\r\n\r\n")
			case want == 100:
				c2.send("[]")
			}
		}
	}
	if running, _ := a.members.Load(); running != 0 {
		t.Errorf("%d requests run", running)
	}
}

// TestUploadsMayTakeTheirTime checks the time limit for receiving the body of an upload. The limit
// grows with the length of the body.
func TestUploadsMayTakeTheirTime(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	a.timeout = time.Second
	for _, c := range []struct {
		length int
		want   time.Duration
	}{{0, time.Second}, {bodyRate, 2 * time.Second}, {-1, time.Second + 10*time.Second}, {20 * bodyRate, 11 * time.Second}} {
		b := &requestBody{length: c.length}
		if got := a.untilReceived(b, 10*bodyRate); got != c.want {
			t.Errorf("%d bytes: %v, want %v", c.length, got, c.want)
		}
	}
}
