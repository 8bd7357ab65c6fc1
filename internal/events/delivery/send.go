package delivery

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/base/tracing"
)

// Maximum sizes in bytes of the stored body and the stored headers of an answer.
const (
	maxAnswer  = 16 << 10
	maxHeaders = 8 << 10
)

// userAgent is the User-Agent header of each request.
const userAgent = "alds"

// newClient returns an HTTP client that uses no proxy and follows no redirects. Unless
// o.AllowPrivate is true, it connects only to public IP addresses.
func newClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = refuseNonPublic
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    o.Connect,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           2 * o.Slots,
			MaxIdleConnsPerHost:    2 * o.InFlight,
			IdleConnTimeout:        60 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// result describes one attempt and its outcome.
type result struct {
	d           *Delivery
	receiver    *receiver
	outcome     Outcome
	wait        time.Duration // wait until the next attempt; only with the outcome Retry
	retryAfter  time.Duration // the wait that the receiver asked for; 0: it asked for no wait
	asksForLess bool          // result of the function asksForLess
	status      int           // status of the answer; 0: there was no answer
	answer      string        // the stored part of the body; without an answer, the same as failure
	headers     string        // headers of the answer as a JSON object
	authorized  bool          // true: the request had an Authorization header
	duration    time.Duration
	err         error  // why there was no answer; the text may contain secrets
	failure     string // text of err without secrets; empty: there was an answer

	secrets secretTexts // secrets of the request
}

// send makes one attempt and counts it in the metrics.
func (s *Sender) send(ctx context.Context, d *Delivery, r *receiver) *result {
	began := time.Now()
	res := &result{d: d, receiver: r}
	ctx, span := tracing.Continue(ctx, "delivery attempt", tracing.Client, d.Trace)
	res.retryAfter = s.post(ctx, res)
	res.duration = time.Since(began)
	s.judge(res)
	if span.On() {
		endSpan(span, res)
	}
	s.metrics.attempts.WithLabelValues(label(res)).Inc()
	s.metrics.attemptTime.WithLabelValues(label(res)).Observe(res.duration.Seconds())
	return res
}

// judge sets the outcome of an attempt and related fields.
func (s *Sender) judge(res *result) {
	res.asksForLess = asksForLess(res.status, res.retryAfter)
	res.outcome, res.wait = classify(res.status, res.d.attempts+1, s.o.Schedule, res.retryAfter, s.chance())
}

// endSpan ends the span of an attempt. The attributes do not include the URL of the receiver,
// which may contain secrets.
func endSpan(span tracing.Span, res *result) {
	span.Text("alds.delivery", res.d.ID)
	span.Text("alds.subscription", res.d.Subscription)
	span.Text("alds.write", res.d.Write)
	span.Text("alds.outcome", res.outcome.String())
	span.Int("alds.attempt", res.d.attempts+1)
	span.Int("alds.events", res.d.Events)
	span.Int("http.response.status_code", res.status)
	if res.outcome != Delivered {
		span.Fail()
	}
	span.End(nil)
}

// label returns the outcome of an attempt as a label of metrics.
func label(res *result) string {
	switch {
	case res.outcome == Delivered:
		return "delivered"
	case res.status != 0:
		return "refused"
	case errors.Is(res.err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "unreachable"
	}
}

// post sends the request, stores the answer in res, and returns the wait in the Retry-After header
// of the answer.
func (s *Sender) post(ctx context.Context, res *result) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	req, err := s.request(ctx, res)
	if err != nil {
		res.failed(err)
		return 0
	}
	answer, err := s.client.Do(req)
	if err != nil {
		res.failed(err)
		return 0
	}
	defer answer.Body.Close()
	res.status = answer.StatusCode
	res.headers = storedHeaders(answer.Header, res.secrets)
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1)) // an incomplete body is also stored
	res.answer = storedAnswer(body, err == nil, res.secrets)
	return retryAfter(answer.Header.Get("Retry-After"), time.Now())
}

// failed stores why there was no answer.
func (r *result) failed(err error) {
	r.err, r.failure = err, Truncate(r.secrets.scrub(failureText(err)))
	r.answer = r.failure
}

func (s *Sender) request(ctx context.Context, res *result) (*http.Request, error) {
	d, r, body := res.d, res.receiver, res.d.body()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the url of the subscription cannot be read") // err contains the URL
	}
	res.secrets = secretsOf(req.URL, "")
	at := time.Now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Webhook-Id", d.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at, 10))
	if parent := tracing.Of(ctx).Parent(); parent != "" {
		req.Header.Set("Traceparent", parent)
	}
	if r.authorization != "" {
		plain, err := s.box.Open(r.authorization)
		if err != nil {
			return nil, errors.New("the authorization header cannot be decrypted")
		}
		req.Header.Set("Authorization", string(plain))
		res.authorized, res.secrets = true, secretsOf(req.URL, string(plain))
	}
	return req, s.addSignature(req, res, body, at)
}

// addSignature signs the request with the signing secret. While the previous secret is valid, it
// adds a second signature with that secret.
func (s *Sender) addSignature(req *http.Request, res *result, body []byte, at int64) error {
	r := res.receiver
	secrets := []string{r.secret}
	if r.previousUntil > r.now {
		secrets = append(secrets, r.previousSecret)
	}
	var signatures []string
	for _, sealed := range secrets {
		if sealed == "" {
			continue
		}
		plain, err := s.box.Open(sealed)
		if err != nil {
			return errors.New("the signing secret cannot be decrypted")
		}
		key, ok := SecretKey(string(plain))
		if !ok {
			return errors.New("the signing secret cannot be read")
		}
		signatures = append(signatures, sign(key, res.d.ID, at, body))
	}
	if len(signatures) > 0 {
		req.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
	return nil
}

// failureText returns the text of an error without the URL of the receiver and without the URL of a
// redirect, because both URLs may contain secrets.
func failureText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok { // omits the address of the DNS server
		return "lookup " + lookup.Name + ": " + lookup.Err
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if text := err.Error(); !strings.HasPrefix(text, "failed to parse Location header") {
		return text
	}
	return "the address of its redirect cannot be read"
}

// storedAnswer returns the part of an answer that is stored: valid text without secrets, at most
// maxAnswer bytes. The parameter whole is false if body does not contain the end of the answer.
func storedAnswer(body []byte, whole bool, secrets secretTexts) string {
	if len(body) > maxAnswer {
		body, whole = body[:maxAnswer], false
	}
	text := secrets.scrub(string(body))
	if !whole {
		text = secrets.withoutStart(text)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[:maxAnswer], "")
	}
	return text
}

func storedHeaders(h http.Header, secrets secretTexts) string {
	stored := map[string]string{}
	size := 0
	for name, values := range h {
		if secrets.inName(name) {
			continue
		}
		value := strings.ToValidUTF8(secrets.header(name, strings.Join(values, ", ")), "\uFFFD")
		if size += len(name) + len(value); size <= maxHeaders {
			stored[name] = value
		}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return ""
	}
	return string(text)
}

// SecretPrefix is the start of every signing secret, according to the Standard Webhooks
// specification. The rest is base64 of 24 to 64 bytes.
const SecretPrefix = "whsec_"

const (
	minSecret = 24
	maxSecret = 64
)

// SecretKey returns the key in a signing secret, or false if the secret has another form.
func SecretKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, SecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret
}

// sign returns one signature for the Webhook-Signature header. The parameter at is the value of
// Webhook-Timestamp, in seconds since 1970.
func sign(key []byte, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Truncate shortens a text to at most 900 bytes, which fit into the column of an error.
func Truncate(s string) string {
	if len(s) > 900 {
		s = s[:900]
	}
	return strings.ToValidUTF8(s, "")
}
