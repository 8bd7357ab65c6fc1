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
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is kept of an answer.
const (
	maxAnswer  = 16 << 10
	maxHeaders = 8 << 10
)

// userAgent names the sender.
const userAgent = "alds"

// newClient returns the HTTP client of a worker: every connection checked when
// it is made, no proxy, no redirects.
func newClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = refuseSpecial
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

// result is one attempt and what became of it.
type result struct {
	d          *Delivery
	receiver   *receiver
	outcome    Outcome
	wait       time.Duration // until the next attempt, when outcome is Again
	asked      time.Duration // what the receiver asked for
	slowed     bool          // it wants less of everything
	status     int           // 0: no answer
	answer     string
	headers    string // JSON object
	authorized bool
	took       time.Duration
	err        error  // why there was no answer; it may show secrets, see failure
	failure    string // the same as it may be read; empty when there was an answer

	secrets secretTexts // of the request
}

// send makes one attempt.
func (s *Sender) send(ctx context.Context, d *Delivery, r *receiver) *result {
	began := time.Now()
	res := &result{d: d, receiver: r}
	asked := s.post(ctx, res)
	res.took = time.Since(began)
	res.asked, res.slowed = asked, slows(res.status, asked)
	res.outcome, res.wait = judge(res.status, d.attempts+1, s.o.Schedule, asked, rand.Float64())
	s.metrics.attempts.WithLabelValues(label(res)).Inc()
	s.metrics.attemptTime.WithLabelValues(label(res)).Observe(res.took.Seconds())
	return res
}

// label is the outcome of an attempt for metrics.
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

// post fills in what was answered and returns what Retry-After asks for.
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
	res.headers = keptHeaders(answer.Header, res.secrets)
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what came before a failure is kept
	res.answer = res.secrets.scrub(strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD"))
	if len(res.answer) > maxAnswer {
		res.answer = strings.ToValidUTF8(res.answer[:maxAnswer], "")
	}
	return retryAfter(answer.Header.Get("Retry-After"), time.Now())
}

// failed notes why there was no answer.
func (r *result) failed(err error) {
	r.err, r.failure = err, brief(r.secrets.scrub(reason(err)))
	r.answer = r.failure
}

func (s *Sender) request(ctx context.Context, res *result) (*http.Request, error) {
	d, r := res.d, res.receiver
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(d.Payload))
	if err != nil {
		return nil, errors.New("the url of the subscription cannot be read") // the cause would show it
	}
	res.secrets = secretsOf(req.URL, "")
	at := time.Now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Webhook-Id", d.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at, 10))
	if r.authorization != "" {
		plain, err := s.box.Open(r.authorization)
		if err != nil {
			return nil, errors.New("the authorization header cannot be decrypted")
		}
		req.Header.Set("Authorization", string(plain))
		res.authorized, res.secrets = true, secretsOf(req.URL, string(plain))
	}
	return req, s.addSignature(req, res, at)
}

// addSignature signs with the secret, and with the one before it while that is
// valid.
func (s *Sender) addSignature(req *http.Request, res *result, at int64) error {
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
		signatures = append(signatures, sign(key, res.d.ID, at, res.d.Payload))
	}
	if len(signatures) > 0 {
		req.Header.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
	return nil
}

// reason is a failure without the addresses that net/http puts into it, which
// may hold secrets: the receiver's own, and the one a redirect points to.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok { // without the server that was asked
		return "lookup " + lookup.Name + ": " + lookup.Err
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	if text := err.Error(); !strings.HasPrefix(text, "failed to parse Location header") {
		return text
	}
	return "the address of its redirect cannot be read"
}

func keptHeaders(h http.Header, secrets secretTexts) string {
	kept := map[string]string{}
	size := 0
	for name, values := range h {
		value := secrets.header(name, strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD"))
		if size += len(name) + len(value); size <= maxHeaders {
			kept[name] = value
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return ""
	}
	return string(text)
}

// SecretPrefix marks a signing secret, as the Standard Webhooks specification
// asks. The rest is base64 of 24 to 64 bytes.
const SecretPrefix = "whsec_"

const (
	minSecret = 24
	maxSecret = 64
)

// SecretKey returns the key that a signing secret stands for; false when it is
// none.
func SecretKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, SecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret
}

// sign returns the value of the webhook-signature header.
// Units: at is in seconds since 1970.
func sign(key []byte, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
