package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAnnouncedBodies opens connections that announce bodies which never come,
// without credentials, with wrong and with right ones. Issue: memory before login.
func TestAnnouncedBodies(t *testing.T) {
	onEach(t, setup{}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		logins := []string{"", "Authorization: Basic bm9ib2R5Om5vdGhpbmc=\r\n", "Authorization: " + basic("admin:"+adminPassword) + "\r\n"}
		o.during(t, 256*mib, func() {
			s.open(150, func(i int) string {
				return "POST /alds/api/asset HTTP/1.1\r\nHost: x\r\n" + logins[i%3] + "Content-Type: application/json\r\nContent-Length: 67108864\r\n\r\n["
			})
			time.Sleep(3 * time.Second)
		})
	})
}

// TestSlowBodies sends large bodies of a member slowly, at a pace that is allowed.
func TestSlowBodies(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_BODY_MEMORY=64MiB"}}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		s.post("/api/asset", []any{person("slow")})
		o.during(t, 256*mib, func() { s.drip("slow:" + passwordOf("slow")) })
	})
}

// drip sends 16 bodies of 59 MiB at once, each at 3 MiB a second, for four seconds.
func (s *site) drip(who string) {
	all := s.open(16, func(int) string {
		return "POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nAuthorization: " + basic(who) +
			"\r\nContent-Type: application/json\r\nContent-Length: 61865984\r\n\r\n"
	})
	part := strings.Repeat("[[[[[[[[[[[[[[[[", 2<<10) // 32 KiB
	var sending sync.WaitGroup
	for _, c := range all {
		sending.Go(func() {
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				_ = c.SetWriteDeadline(end)
				if _, err := io.WriteString(c, part); err != nil {
					return // refused for its memory
				}
			}
		})
	}
	sending.Wait()
}

// TestUploadsWithoutLogin sends forms with files: none may be stored for a
// stranger, not for a moment either.
func TestUploadsWithoutLogin(t *testing.T) {
	s := newSite(t, "sqlite", setup{})
	form := "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("a", 24*mib)
	head := fmt.Sprintf("POST /alds/api/asset HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n", len(form)+100)
	for _, c := range s.open(4, func(int) string { return head }) {
		_ = c.SetWriteDeadline(time.Now().Add(3 * time.Second))
		_, _ = io.WriteString(c, form) // refused by then
		if left, err := os.ReadDir(s.temp); err != nil || len(left) != 0 {
			t.Errorf("the folder for temporary files has %v, %v", left, err)
		}
	}
	s.proc.MustRun()
}

// bomb is a body that is large once it is unpacked or read.
type bomb struct {
	name, path, media, encoding string
	body                        []byte
	senders                     int
}

func bombs() []bomb {
	const bulk, json, yaml = "/api/asset", "application/json", "application/yaml"
	story := `{"AssetType":"Story","Name":"a story that is only looked at","Scope":"Scope:0","Description":"what it is about"}`
	previewed := "[" + story + strings.Repeat(","+story, 40_000) + "]"
	aliases := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	return []bomb{
		{"commands that are previewed", bulk + "?previewOnly=true", json, "", []byte(previewed), 8},
		{"values in gzip", bulk, json, "gzip", zipped("[" + strings.Repeat("1,", 1_900_000) + "1]"), 8},
		{"blanks in gzip", bulk, json, "gzip", zipped(strings.Repeat(" ", 60*mib) + "[]"), 16},
		{"more than may be unpacked", bulk, json, "gzip", zipped(strings.Repeat(" ", 500*mib)), 8},
		{"lists in lists", bulk, json, "", []byte(strings.Repeat("[", 20*mib)), 8},
		{"values in YAML", bulk, yaml, "", []byte("x: [" + strings.Repeat("1,", 1_000_000) + "1]"), 8},
		{"aliases in YAML", bulk, yaml, "", []byte(aliases), 16},
		{"one long name", bulk, json, "", []byte(`{"from":"Story","` + strings.Repeat(">", 30*mib) + `":1}`), 8},
		{"one long text", bulk, json, "", []byte(`{"from":"Story","filter":["Name='` + strings.Repeat("a", 30*mib) + `'"]}`), 8},
	}
}

// xmlBombs are bodies in XML: as large as a body may be, and as large as one member's
// memory allows, so that they are read.
func xmlBombs() []bomb {
	const path, media, name = "/rest-1.v1/Data/Story", "text/xml", `<Asset><Attribute name="Name">`
	entities := `<!DOCTYPE Asset [<!ENTITY a "aaaaaaaaaa">`
	for c := 'b'; c <= 'z'; c++ {
		entities += fmt.Sprintf(`<!ENTITY %c "%s">`, c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	return []bomb{
		{"elements in elements", path, media, "", []byte(strings.Repeat("<a>", 20*mib)), 8},
		{"fewer elements in elements", path, media, "", []byte("<Asset>" + strings.Repeat("<a>", 150_000)), 8},
		{"elements beside each other", path, media, "", []byte("<Asset>" + strings.Repeat(`<b c=""/>`, 110_000) + "</Asset>"), 8},
		{"elements in gzip", path, media, "gzip", zipped("<Asset>" + strings.Repeat("<a/>", 15*mib) + "</Asset>"), 8},
		{"attributes", path, media, "", []byte("<Asset " + strings.Repeat(`a="" `, 12*mib) + "/>"), 8},
		{"fewer attributes", path, media, "", []byte("<Asset " + strings.Repeat(`a="" `, 400_000) + "/>"), 8},
		{"a value without an end", path, media, "", []byte(`<Asset a="` + strings.Repeat("a", 16*mib)), 8},
		{"entities", path, media, "", []byte(entities + "]>" + name + "&z;</Attribute></Asset>"), 16},
		{"a document type without an end", path, media, "", []byte(entities + strings.Repeat("<", 60*mib)), 8},
		{"references", path, media, "", []byte(name + strings.Repeat("&lt;", 4*mib) + "</Attribute></Asset>"), 8},
		{"references without an end", path, media, "", []byte(name + strings.Repeat("&#", 8*mib)), 8},
		{"one long name in a value", path, media, "", []byte(`<Asset><Attribute name="` + strings.Repeat(">", 16*mib) + `">x</Attribute></Asset>`), 8},
		{"comments", path, media, "", []byte(name + strings.Repeat("x<!-- -->", 150_000) + "</Attribute></Asset>"), 8},
		{"one long name", path, media, "", []byte("<" + strings.Repeat("a", 16*mib) + "/>"), 8},
		{"blanks in gzip", path, media, "gzip", zipped("<Asset>" + strings.Repeat(" ", 60*mib) + "</Asset>"), 16},
	}
}

// TestBombs sends such bodies, many at a time, as a member, and afterwards looks
// whether the memory comes back. Issue: memory after login.
func TestBombs(t *testing.T) { explode(t, bombs()) }

// TestXMLBombs does the same in XML.
func TestXMLBombs(t *testing.T) { explode(t, xmlBombs()) }

// bodyMemory is what requests may hold, in bytes. The process may hold twice as much more:
// a heap of Go is collected when it is double of what was alive.
const bodyMemory = 256 * mib

func explode(t *testing.T, all []bomb) {
	t.Helper()
	s := newSite(t, "sqlite", setup{settings: []string{fmt.Sprintf("ALDS_BODY_MEMORY=%d", bodyMemory)}})
	who := s.member("bomber")
	o := s.watch(s.stories(200, nil)[0])
	c := from(attacker)
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			var seen tally
			o.during(t, o.before+2*bodyMemory, func() { s.bombard(c, who, b, &seen) })
			seen.only(t, noAnswer, 200, 400, 413, 503)
		})
	}
	c.CloseIdleConnections()
	o.settles()
}

// bombard sends a bomb again and again for two seconds.
func (s *site) bombard(c *http.Client, who string, b bomb, seen *tally) {
	var sending sync.WaitGroup
	for range b.senders {
		sending.Go(func() {
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				seen.add(s.throw(c, who, b))
			}
		})
	}
	sending.Wait()
}

// noAnswer stands for an answer that the client did not see: it was still
// sending when the connection was closed.
const noAnswer = 0

// throw sends a bomb and returns the status.
func (s *site) throw(c *http.Client, who string, b bomb) int {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url(b.path), bytes.NewReader(b.body))
	if err != nil {
		panic(err)
	}
	name, password, _ := strings.Cut(who, ":")
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", b.media)
	if b.encoding != "" {
		req.Header.Set("Content-Encoding", b.encoding)
	}
	res, err := c.Do(req)
	if err != nil {
		return noAnswer
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // an answer that breaks off is one
	return res.StatusCode
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // into memory
	_ = z.Close()
	return b.Bytes()
}

// basic is the value of an Authorization header.
func basic(who string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(who))
}
