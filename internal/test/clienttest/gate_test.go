package clienttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const token = "a token that the gate takes"

// gate is a proxy between a program and the service, like an attacker in the network. All requests of the
// program and all deliveries pass through the gate. It sends forged deliveries before each genuine
// delivery.
type gate struct {
	t      *testing.T
	server *httptest.Server
	url    string // URL of the instance, for the program

	failure string // error text with which the gate answers the second request to api/asset; empty: no error

	mu       sync.Mutex
	writes   int             // number of requests to api/asset
	logins   map[string]bool // login schemes of the program: "Basic", "Bearer"
	listener string          // URL of the program's listener
	secret   string          // secret of the program's subscription
	genuine  int             // deliveries of the service that the program accepted
}

func newGate(t *testing.T, base string) *gate {
	t.Helper()
	service, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, logins: map[string]bool{}}
	through := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = service.Scheme, service.Host, service.Host
			if r.In.Header.Get("Authorization") == "Bearer "+token {
				r.Out.SetBasicAuth("admin", password)
			}
		},
		ModifyResponse: g.answered,
	}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/delivery" {
			g.deliver(w, r)
		} else if !g.stopped(w, r) {
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(g.server.Close)
	g.url = g.server.URL + "/alds"
	return g
}

// stopped checks a request of the program. It reports whether the gate has answered the request instead of
// the service.
func (g *gate) stopped(w http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	login, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	g.logins[login] = true
	if accept := r.Header.Get("Accept"); accept != "application/json" {
		g.t.Errorf("%s asks for %q", r.URL, accept)
	}
	switch r.URL.Path {
	case "/alds/api/asset":
		g.writes++
		if g.writes == 2 && g.failure != "" {
			_ = json.NewEncoder(w).Encode(map[string]any{"commandFailures": map[string]any{"count": 1, "commands": []any{
				map[string]any{"error": map[string]any{"message": g.failure, "sourceCommandIndex": 0}},
			}}})
			return true
		}
	case "/alds/api/webhook":
		var hook map[string]any
		if err := json.NewDecoder(r.Body).Decode(&hook); err != nil {
			g.t.Error(err)
		}
		g.listener, _ = hook["url"].(string)
		hook["url"] = "http://" + r.Host + "/delivery"
		body, err := json.Marshal(hook)
		if err != nil {
			g.t.Error(err)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return false
}

// answered reads the answer of the service. If the answer is a new subscription, it stores the secret of
// the subscription.
func (g *gate) answered(r *http.Response) error {
	if r.Request.URL.Path != "/alds/api/webhook" || r.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var hook struct{ Secret string }
	if err := json.Unmarshal(body, &hook); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.secret = hook.Secret
	return nil
}

// deliver sends forged deliveries to the program and then the genuine delivery. The program must refuse all
// forged deliveries.
func (g *gate) deliver(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Error(err)
	}
	g.mu.Lock()
	listener, secret := g.listener, g.secret
	g.mu.Unlock()
	for what, f := range forgeries(g.t, secret, r.Header, body) {
		if status := g.send(listener, f.header, f.body); status != http.StatusUnauthorized {
			g.t.Errorf("a delivery with %s is answered %d", what, status)
		}
	}
	header := r.Header.Clone() // a delivery has two signatures while a secret is replaced
	header.Set("Webhook-Signature", "v1,"+strings.Repeat("A", 43)+"= "+header.Get("Webhook-Signature"))
	status := g.send(listener, header, body)
	if status != http.StatusNoContent {
		g.t.Errorf("the delivery of the service is answered %d", status)
	}
	w.WriteHeader(status)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.genuine++
}

func (g *gate) send(to string, header http.Header, body []byte) (status int) {
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		g.t.Error(err)
		return http.StatusBadGateway
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Error(err)
		return http.StatusBadGateway
	}
	defer response.Body.Close()
	return response.StatusCode
}

type forgery struct {
	header http.Header
	body   []byte
}

// forgeries returns deliveries that an attacker can send after it has seen a genuine delivery. The forged
// deliveries with an old or a future time even have a valid signature.
func forgeries(t *testing.T, secret string, genuine http.Header, body []byte) map[string]forgery {
	with := func(name, value string) forgery {
		header := genuine.Clone()
		if header.Set(name, value); value == "" {
			header.Del(name)
		}
		return forgery{header, body}
	}
	signed := func(secret string, at time.Time) forgery {
		signer, err := webhooks.NewWebhook(secret)
		if err != nil {
			t.Error(err)
			return forgery{}
		}
		signature, err := signer.Sign(genuine.Get("Webhook-Id"), at, body)
		if err != nil {
			t.Error(err)
		}
		f := with("Webhook-Signature", signature)
		f.header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		return f
	}
	return map[string]forgery{
		"another body":         {genuine, bytes.ReplaceAll(body, []byte("Pay by card"), []byte("Pay by cash"))},
		"another id":           with("Webhook-Id", "11111111-1111-4111-8111-111111111111"),
		"a later time":         with("Webhook-Timestamp", strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)),
		"no time":              with("Webhook-Timestamp", ""),
		"a time that is none":  with("Webhook-Timestamp", "now"),
		"no signature":         with("Webhook-Signature", ""),
		"a short signature":    with("Webhook-Signature", "v1,"),
		"a signature of other": signed("whsec_"+strings.Repeat("A", 43)+"=", time.Now()),
		"the time of before":   signed(secret, time.Now().Add(-10*time.Minute)),
		"the time of later":    signed(secret, time.Now().Add(10*time.Minute)),
	}
}
