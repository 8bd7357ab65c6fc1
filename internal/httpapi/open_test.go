package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
)

// opened returns an API with the routes opened, which is an open route, and closed. Both call
// handle.
func opened(open bool, handle handler) *API {
	e := engines{}
	a := New(fixed(Engines{Credentials: e}), Options{Instance: "alds", MaxBody: maxBody, Running: 16, Open: open, Log: slog.New(slog.DiscardHandler)})
	a.refusalDelay = 0
	a.app = a.fiber([]Route{
		{Methods: get, Path: "opened", Open: true, handle: handle},
		{Methods: get, Path: "closed", handle: handle},
	})
	return a
}

// answerWho is a handler that answers with the kind of its caller: visitor or member.
var answerWho handler = func(_ *API, _ context.Context, who auth.Actor, _ *request) ([]byte, error) {
	if who.Member == 0 {
		return []byte(`"visitor"`), nil
	}
	return []byte(`"member"`), nil
}

// TestOpenRoutes checks that an open route needs no credentials if the settings allow it, and that
// other routes always need them. On an open route, valid and invalid credentials are both ignored.
func TestOpenRoutes(t *testing.T) {
	for _, c := range []struct {
		why, method, path, header string
		open                      bool
		status                    int
		body                      string
	}{
		{"an open route", "GET", "/alds/opened", "", true, 200, `"visitor"`},
		{"the setting is off", "GET", "/alds/opened", "", false, 401, "Authentication is required"},
		{"another route", "GET", "/alds/closed", "", true, 401, "Authentication is required"},
		{"no route", "GET", "/alds/nothing", "", true, 401, "Authentication is required"},
		{"POST to an open route", "POST", "/alds/opened", "", true, 405, "Method Not Allowed"},
		{"POST with wrong credentials", "POST", "/alds/opened", "Bearer 1.bad", true, 405, "Method Not Allowed"},
		{"POST where the setting is off", "POST", "/alds/opened", "", false, 401, "Authentication is required"},
		{"with credentials", "GET", "/alds/opened", "Bearer 1.good", true, 200, `"visitor"`},
		{"with wrong credentials", "GET", "/alds/opened", "Bearer 1.bad", true, 200, `"visitor"`},
		{"with malformed ones", "GET", "/alds/opened", "Basic %", true, 200, `"visitor"`},
		{"with wrong ones where the setting is off", "GET", "/alds/opened", "Bearer 1.bad", false, 401, "not valid"},
		{"with a ticket", "GET", "/alds/opened", "Cookie .V1.Ticket.alds=1.good", true, 200, `"visitor"`},
		{"with a wrong ticket", "GET", "/alds/opened", "Cookie .V1.Ticket.alds=1.bad", true, 200, `"visitor"`},
	} {
		resp, body := call(t, opened(c.open, answerWho), c.method, c.path, "", headerOf(c.header)...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
	}
}

// TestVisitorsGetLargeAnswers checks that a visitor can get a large answer, such as the whole
// model.
func TestVisitorsGetLargeAnswers(t *testing.T) {
	large := strings.Repeat("x", 2*largeAnswer)
	a := opened(true, func(*API, context.Context, auth.Actor, *request) ([]byte, error) { return []byte(large), nil })
	resp, body := call(t, a, "GET", "/alds/opened", "", "Authorization", "")
	if resp.StatusCode != http.StatusOK || body != large {
		t.Errorf("%d, %d bytes", resp.StatusCode, len(body))
	}
}

// TestVisitorsAreBounded checks the limits of running and waiting visitors of one network.
// Members are not limited by them, and a slot is free again after its handler has panicked.
func TestVisitorsAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	a := opened(true, func(_ *API, _ context.Context, who auth.Actor, r *request) ([]byte, error) {
		if r.params["panic"] != "" {
			panic("the engine broke")
		}
		if who.Member == 0 {
			entered <- struct{}{}
			<-leave
		}
		return []byte("1"), nil
	})
	for range 3 {
		if resp, body := call(t, a, "GET", "/alds/opened?panic=1", "", "Authorization", ""); resp.StatusCode != http.StatusInternalServerError {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	statuses := make(chan int)
	ask := func() {
		resp, _ := call(t, a, "GET", "/alds/opened", "", "Authorization", "")
		statuses <- resp.StatusCode
	}
	const asked = 1 + maxVisitors + 3
	for range asked {
		go ask()
	}
	<-entered
	for range 3 {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", status)
		}
	}
	if resp, body := call(t, a, "GET", "/alds/closed", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("a member meanwhile: %d %s", resp.StatusCode, body)
	}
	close(leave)
	for range maxVisitors {
		<-entered
	}
	for range asked - 3 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("one that waited: %d", status)
		}
	}
}

// TestVisitorsSendNoBody checks that the body of a visitor's request is not read.
func TestVisitorsSendNoBody(t *testing.T) {
	a := opened(true, func(_ *API, _ context.Context, _ auth.Actor, r *request) ([]byte, error) {
		if len(r.raw) > 0 {
			t.Errorf("read %d bytes", len(r.raw))
		}
		return []byte("1"), nil
	})
	resp, _ := call(t, a, "GET", "/alds/opened", strings.Repeat("x", 100*maxBody), "Authorization", "")
	_, _ = io.Copy(io.Discard, resp.Body)
}
