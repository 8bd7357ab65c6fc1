package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// client sends requests to a service with the credentials of one member.
type client struct {
	http     http.Client
	base     string        // URL of the instance, without credentials
	user     *url.Userinfo // nil: none
	token    string        // empty: none
	patience time.Duration // how long a request is repeated while the service is busy or unreachable
	wait     func(error)   // called before a request is repeated
	answered bool          // a request has succeeded; before that, no request is repeated
}

// refusal is an answer with a status other than 200, or an answer that cannot be read.
type refusal struct {
	status  int
	message string
}

// Error returns the service's message.
func (r *refusal) Error() string {
	return fmt.Sprintf("the service answered %d: %s", r.status, r.message)
}

// isStatus reports whether an error is a refusal with one of the statuses.
func isStatus(err error, statuses ...int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && slices.Contains(statuses, r.status)
}

// passes reports whether the same request may succeed later. This is so if the service is busy or
// unreachable, or if an equal request still runs.
func passes(err error) bool {
	if _, ok := errors.AsType[*refusal](err); !ok {
		return true // the service has not answered
	}
	return isStatus(err, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}

func newClient(o Options) (*client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL of the service must have the form http://host:port/alds")
	}
	c := &client{http: http.Client{Timeout: 5 * time.Minute}, user: u.User, token: o.Token, patience: o.Patience}
	u.User = nil
	c.base = strings.TrimSuffix(u.String(), "/")
	return c, nil
}

// get reads a path as JSON. Errors: *refusal if the service does not answer with 200.
func (c *client) get(ctx context.Context, path string, into any) error {
	_, err := c.repeat(ctx, http.MethodGet, path, "", nil, into)
	return err
}

// query runs one query. next is the cursor of the next page; empty: there are no more pages.
func (c *client) query(ctx context.Context, query map[string]any, into any) (next string, err error) {
	body, err := marshal(query)
	if err != nil {
		return "", err
	}
	sets := []any{into}
	header, err := c.repeat(ctx, http.MethodPost, "/query.v1", "", body, &sets)
	if err != nil {
		return "", err
	}
	var pages []struct{ Next *string }
	if text := header.Get("Alds-Result"); text != "" {
		if err := json.Unmarshal([]byte(text), &pages); err != nil {
			return "", err
		}
	}
	if len(pages) > 0 && pages[0].Next != nil {
		next = *pages[0].Next
	}
	return next, nil
}

// answer is the part of the answer to commands that the importer needs.
type answer struct {
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Commands []struct {
			Error struct {
				Message string `json:"message"`
				Index   int    `json:"sourceCommandIndex"`
			} `json:"error"`
		} `json:"commands"`
	} `json:"commandFailures"`
}

// failures returns the messages of failed commands by their index in the request. It returns
// the first message of each command.
func (a answer) failures() map[int]string {
	failed := map[int]string{}
	for _, f := range a.CommandFailures.Commands {
		if _, ok := failed[f.Error.Index]; !ok {
			failed[f.Error.Index] = f.Error.Message
		}
	}
	return failed
}

// write sends commands. With an Idempotency-Key, the service executes them only once, however often
// they are sent. If key is empty, the request has no Idempotency-Key.
func (c *client) write(ctx context.Context, body []byte, key string) (answer, error) {
	var a answer
	_, err := c.repeat(ctx, http.MethodPost, "/api/asset", key, body, &a)
	return a, err
}

// repeat sends a request until it succeeds, until it fails in a way that a repetition cannot fix,
// or until c.patience has passed.
func (c *client) repeat(ctx context.Context, method, path, key string, body []byte, into any) (http.Header, error) {
	end := time.Now().Add(c.patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		header, err := c.send(ctx, method, path, key, body, into)
		c.answered = c.answered || err == nil
		if err == nil || ctx.Err() != nil || !c.answered || !passes(err) || time.Now().Add(pause).After(end) {
			return header, err
		}
		c.wait(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *client) send(ctx context.Context, method, path, key string, body []byte, into any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	switch {
	case c.token != "":
		req.Header.Set("Authorization", "Bearer "+c.token)
	case c.user != nil:
		password, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, refused(res.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, &refusal{res.StatusCode, fmt.Sprintf("%s is not an alds service: %v", c.base, err)}
	}
	return res.Header, nil
}

// refused returns a refusal with the message of the service. If the answer has no message, the
// refusal contains the first 200 characters of the answer.
func refused(status int, text []byte) error {
	var said struct{ Error string }
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		said.Error = fmt.Sprintf("%.200s", text)
	}
	return &refusal{status, said.Error}
}

// marshal returns a value as JSON, and does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
