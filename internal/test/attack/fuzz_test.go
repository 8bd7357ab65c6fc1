package attack

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

var (
	fuzzFor  = flag.Duration("attack.fuzz", 0, "how long requests are fuzzed on each database; 0: 3 s in the short form, else 8 s")
	fuzzSeed = flag.Uint64("attack.seed", 0, "seed of the fuzzing; 0: by the time")
)

const (
	fuzzers = 4
	perSite = 30 * time.Second
	hangs   = giveUp // how long a request may take; the server allows 10 s for the headers and 5 s for the request
)

// TestFuzzRequests sends randomly changed copies of the requests in the specification cases. Every request
// must get an answer, and no request may be answered 500. The process must not end or log a panic.
// Afterwards the command check must find no fault in the database.
//
// A changed request may lock the administrator out, because administrators have the right to do that. The
// test then continues with a new, empty installation. It also starts a new installation every half minute,
// because later requests change everything that earlier requests have created.
func TestFuzzRequests(t *testing.T) {
	beside(t)
	seed := *fuzzSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any number works as a seed
	}
	all := seeds(t)
	t.Logf("%d requests to begin with, -attack.seed %d", len(all), seed)
	lasting := *fuzzFor
	if lasting == 0 {
		lasting = time.Duration(depth(3, 8)) * time.Second
	}
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			beside(t)
			f := &fuzzing{seeds: all}
			sites := uint64(0)
			for end := time.Now().Add(lasting); time.Now().Before(end) && !t.Failed(); sites++ {
				t.Run(strconv.FormatUint(sites, 10), func(t *testing.T) { f.on(t, dialect, seed+sites, min(perSite, time.Until(end))) })
			}
			t.Logf("%d requests to %d installations", f.sent.Load(), sites)
			if f.sent.Load() == 0 {
				t.Error("no request was sent")
			}
			f.seen.only(t, 200, 202, 302, 303, 304, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 429, 431, 501, 503, noAnswer)
		})
	}
}

// on sends requests to a new installation until the duration in lasting has passed, or until the
// administrator can no longer log in.
func (f *fuzzing) on(t *testing.T, dialect string, seed uint64, lasting time.Duration) {
	t.Helper()
	t.Logf("-attack.seed %d", seed)
	// Webhooks are not delivered, because a changed URL may belong to a stranger.
	s := newSite(t, dialect, setup{settings: []string{"ALDS_WEBHOOK_MAX_ENABLED=0", "ALDS_REQUEST_TIMEOUT=5s"}})
	s.stories(20, nil)
	f.s, f.token = s, s.token()
	f.lockedOut.Store(false)
	end := time.Now().Add(lasting)
	var working sync.WaitGroup
	for i := range fuzzers {
		working.Go(func() { f.work(rand.New(rand.NewPCG(seed, uint64(i))), end) }) //nolint:gosec // repeatable
	}
	working.Wait()
	s.proc.MustRun()
	for line := range strings.Lines(s.log.String()) {
		late := strings.Contains(line, "context ") || strings.Contains(line, "i/o timeout") // on a busy machine
		if strings.Contains(line, "panic") || strings.Contains(line, `"level":"ERROR"`) && !late {
			t.Errorf("logged: %.2000s", line)
			break
		}
	}
	s.sound()
	s.proc.Stop()
}

// token creates an access token of the administrator. The requests use the token, because a changed request
// may change the password.
func (s *site) token() string {
	s.t.Helper()
	p := testproc.Start(s.t, testproc.Options{Env: s.env, Log: s.log}, s.command, "token", "create", "--member", "admin", "--name", "fuzz")
	p.Wait()
	return strings.TrimSpace(p.Out.String())
}

// message is a request of a specification case.
type message struct {
	line    string // method and path
	headers []string
	body    []byte
}

var (
	request  = regexp.MustCompile(`(?ms)^-- request --\n(.*?)(?:^-- |\z)`)
	captured = regexp.MustCompile(`\{\{([^}]*)\}\}`)
)

// seeds returns the requests of all specification cases.
func seeds(t *testing.T) (all []message) {
	t.Helper()
	files, err := filepath.Glob("../spectest/testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range request.FindAllSubmatch(text, -1) {
			head, body, _ := bytes.Cut(m[1], []byte("\n\n"))
			lines := strings.Split(known(string(head)), "\n")
			all = append(all, message{line: lines[0], headers: lines[1:], body: []byte(known(string(body)))})
		}
	}
	return all
}

// known replaces the variables of a case, such as {story}, with values that exist in the new installation.
func known(text string) string {
	return captured.ReplaceAllStringFunc(text, func(name string) string {
		switch name = strings.Trim(name, "{}"); {
		case name == "scope", name == "project":
			return "Scope:0"
		case strings.HasSuffix(name, ".id"):
			return "1001"
		case name == "receiver":
			return "http://127.0.0.1:9/"
		case name == "member":
			return "Member:20"
		case name == "moment":
			return "1"
		case len(name) <= 2, name == "story":
			return "Story:1001"
		}
		return name
	})
}

// fuzzing is a run of TestFuzzRequests on one database.
type fuzzing struct {
	s     *site
	token string
	seeds []message
	seen  tally
	sent  atomic.Int64

	lockedOut atomic.Bool
}

func (f *fuzzing) work(r *rand.Rand, end time.Time) {
	for time.Now().Before(end) && !f.s.t.Failed() && !f.lockedOut.Load() {
		text, odd := f.mutated(r)
		status, answer := f.send(text, odd)
		f.sent.Add(1)
		f.seen.add(status)
		if status == http.StatusInternalServerError {
			f.s.t.Errorf("answered 500: %.2000q\n%.1000s", text, answer)
		}
		if status == http.StatusUnauthorized {
			plain := fmt.Sprintf("GET /alds/rest-1.v1/Data/Scope/0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", f.token)
			status, _ = f.send([]byte(plain), false)
			f.lockedOut.Store(status == http.StatusUnauthorized)
		}
	}
}

// mutated returns a request with one or a few random changes. Most changes are in the path and the body.
// odd is true if the message as a whole was changed, so that its headers may not match its body.
func (f *fuzzing) mutated(r *rand.Rand) (whole []byte, odd bool) {
	m := f.seeds[r.IntN(len(f.seeds))]
	body, line := bytes.Clone(m.body), []byte(m.line)
	for range 1 + r.IntN(1+r.IntN(3)) {
		switch r.IntN(8) {
		case 0:
			line = mutate(r, line)
		case 1:
			other := f.seeds[r.IntN(len(f.seeds))]
			body = splice(r, body, other.body)
		default:
			body = mutate(r, body)
		}
	}
	method, path, _ := bytes.Cut(line, []byte(" "))
	head := fmt.Sprintf("%s /alds%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", method, path)
	for _, h := range append([]string{"Content-Type: application/json"}, m.headers...) {
		if name, _, ok := strings.Cut(h, ":"); ok && !strings.EqualFold(name, "Authorization") {
			head += h + "\r\n"
		}
	}
	head += "Authorization: Bearer " + f.token + "\r\n"
	if r.IntN(20) == 0 {
		head, body = head+"Content-Encoding: gzip\r\n", zipped(string(body))
	}
	whole = append([]byte(head+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))), body...)
	if r.IntN(10) == 0 {
		return mutate(r, whole), true
	}
	return whole, false
}

// send writes a text unchanged and returns the answer. It fails the test if no answer comes within the time
// limit, but not if the server closes the connection. If odd is true, send closes the sending side of the
// connection after the text, so that the server does not wait for a body that is shorter than announced.
func (f *fuzzing) send(text []byte, odd bool) (status int, answer []byte) {
	c, err := f.s.dial()
	if err != nil {
		return noAnswer, nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(hangs))
	_, _ = c.Write(text) // the server may refuse the request before all of the text is sent
	if tcp, ok := c.(*net.TCPConn); ok && odd {
		_ = tcp.CloseWrite()
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		defer res.Body.Close()
		answer, err = io.ReadAll(res.Body)
		status = res.StatusCode
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // net.Conn returns it unwrapped
		f.s.t.Errorf("no answer within %s: %.2000q", hangs, text)
	}
	return status, answer
}

// tokens are texts that mutate inserts because parsers may handle them wrongly.
var tokens = []string{
	"null", "true", "0", "-1", "1e400", "9223372036854775808", `""`, "[]", "{}", `"\u0000"`, `"\ud800"`, "\x00", "\xff", "'", `"`, "\\", "%", "_", ";", "--", "|", "&", ".", "@",
	"Story:0", "Story:99999999999999999999", "Scope:0", "Member:20", "NULL", "$var", "$", "@MyName", "+", ":", ",", "(", ")", "[", "]", "{", "}", "<", ">", "=", "!=", "~",
	"2026-02-30", "0000-00-00T00:00:00", "9999-12-31T23:59:59.999Z", "asof", "from", "select", "where", "filter", "sort", "page", "group", "find", "findin", "with", "update", "execute",
	"Workitems", "Owners", "Scope.ParentMeAndUp", "Children[Name='x']", "@Count", "@Sum", "@Max", "AssetState", "Moment", "Order", "Status.Name", "ChangeDate", "Super", "Subs", "AssetType",
	"&a", "*a", "- ", "? ", "!!binary", "|\n", "# ", "\r\n", "\n", "\t", "\u00df", "\u0130", "\U0001f600", "\u202e",
}

// mutate returns the text with one random change.
func mutate(r *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return []byte(tokens[r.IntN(len(tokens))])
	}
	at := r.IntN(len(b))
	till := min(len(b), at+1+r.IntN(12))
	switch r.IntN(7) {
	case 0:
		return append(b[:at:at], b[till:]...)
	case 1: // repeat a part, up to 200 times
		part := bytes.Repeat(b[at:till], 1+r.IntN(2+r.IntN(200)))
		return append(append(b[:at:at], part...), b[at:]...)
	case 2:
		b[at] ^= 1 << r.IntN(8)
		return b
	case 3:
		return append(append(b[:at:at], tokens[r.IntN(len(tokens))]...), b[till:]...)
	case 4:
		return b[:at]
	default:
		return words(r, b)
	}
}

var word = regexp.MustCompile(`[A-Za-z0-9_.:@$-]+`)

// words returns the text with one word replaced by one of tokens or by another word of the text.
func words(r *rand.Rand, b []byte) []byte {
	all := word.FindAllIndex(b, -1)
	if len(all) == 0 {
		return append(b, tokens[r.IntN(len(tokens))]...)
	}
	at := all[r.IntN(len(all))]
	with := []byte(tokens[r.IntN(len(tokens))])
	if other := all[r.IntN(len(all))]; r.IntN(2) == 0 {
		with = bytes.Clone(b[other[0]:other[1]])
	}
	return append(append(b[:at[0]:at[0]], with...), b[at[1]:]...)
}

// splice returns a beginning of a followed by an end of b.
func splice(r *rand.Rand, a, b []byte) []byte {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	return append(bytes.Clone(a[:r.IntN(len(a))]), b[r.IntN(len(b)):]...)
}
