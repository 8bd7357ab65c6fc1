package attack

import (
	"bufio"
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

// announced is the Content-Length of each announced body, in bytes. All requests together may take only an
// eighth of that memory. The first buffers of the requests and the reads of the second member need less.
const announced = 64 * mib

// firstPart is how many bytes of a body arrive before a handler runs.
const firstPart = 8 << 10

// TestAnnouncedBodies opens connections that announce large bodies and never send them: without
// credentials, with wrong credentials and with right credentials. It fails if the server reserves memory
// for an announced body.
func TestAnnouncedBodies(t *testing.T) {
	onEach(t, setup{short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		logins := []string{"", "Authorization: Basic bm9ib2R5Om5vdGhpbmc=\r\n", "Authorization: " + basic("admin:"+adminPassword) + "\r\n"}
		o.during(t, attack{memory: 256 * mib, lasts: 3 * time.Second, most: metrics{memoryTaken: announced / 8}, run: func(ctx context.Context, on func()) {
			s.open(150, func(i int) string {
				head := fmt.Sprintf("POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n[", logins[i%3], announced)
				if i%2 == 0 {
					return head
				}
				return head + strings.Repeat("[", firstPart)
			})
			s.becomes(t, inFlight, 25) // the connections with right credentials: their handlers wait for the bodies
			on()
			<-ctx.Done()
		}})
	})
}

// slowMemory is ALDS_BODY_MEMORY of TestSlowBodies, in bytes.
const slowMemory = 64 * mib

// TestSlowBodies sends large bodies of one member slowly, at a rate that the server accepts.
func TestSlowBodies(t *testing.T) {
	onEach(t, setup{settings: []string{fmt.Sprintf("ALDS_BODY_MEMORY=%d", slowMemory)}, short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		s.post([]any{person("slow")})
		o.during(t, attack{
			memory: 256 * mib, most: metrics{memoryTaken: slowMemory/2 + 8*mib}, // one member may use half
			lasts: 4 * time.Second,
			run:   func(ctx context.Context, on func()) { s.drip(ctx, on, "slow:"+passwordOf("slow")) },
		})
	})
}

// drip sends 16 bodies of 59 MiB at once, each at 3 MiB a second. With -short it sends 24 MiB of each body
// as fast as the server reads, and then sends nothing more but keeps the connections open.
func (s *site) drip(ctx context.Context, on func(), who string) {
	all := s.open(16, func(int) string {
		return "POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + basic(who) +
			"\r\nContent-Type: application/json\r\nContent-Length: 61865984\r\n\r\n"
	})
	part := strings.Repeat("[[[[[[[[[[[[[[[[", 2<<10) // 32 KiB
	write := func(i int) error {
		_ = all[i].SetWriteDeadline(time.Now().Add(5 * time.Second))
		_, err := io.WriteString(all[i], part)
		return err
	}
	if !testing.Short() {
		on()
		flood(ctx, len(all), 10*time.Millisecond, func(i, _ int) { _ = write(i) })() // the server may refuse the bytes
		return
	}
	var sending sync.WaitGroup
	for i := range all {
		sending.Go(func() {
			for n := 0; n < 24*mib/len(part) && write(i) == nil; n++ {
			}
		})
	}
	sending.Wait()
	on()
	<-ctx.Done()
}

// TestUploadsWithoutLogin sends forms that contain files, without credentials. The server must not store
// any of their bytes, not even for a moment. It reads and discards the bytes, so that the client can read
// the answer.
func TestUploadsWithoutLogin(t *testing.T) {
	beside(t)
	s := newSite(t, "sqlite", setup{})
	before := s.metric(t, received)
	form := "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("a", 24*mib)
	head := fmt.Sprintf("POST /alds/api/asset HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n", len(form)+100)
	for _, c := range s.open(4, func(int) string { return head }) {
		_ = c.SetDeadline(time.Now().Add(giveUp))
		if n, err := io.WriteString(c, form+strings.Repeat("a", 100)); err != nil { // the server discards these bytes
			t.Errorf("%d bytes were taken: %v", n, err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%v, %v", answer, err)
		}
		_ = answer.Body.Close()
		if left, err := os.ReadDir(s.temp); err != nil || len(left) != 0 {
			t.Errorf("the folder for temporary files has %v, %v", left, err)
		}
	}
	if read := s.metric(t, received) - before; read != 0 {
		t.Errorf("%v bytes were read", read)
	}
	s.proc.MustRun()
}

// bomb is a request body that becomes large when the server unpacks or parses it. The test sends it from
// several clients at once: senders is their number.
type bomb struct {
	name, path, media, encoding string
	body                        []byte
	senders                     int
}

func bombs() []bomb {
	const bulk, json, yaml = "/api/asset", "application/json", "application/yaml"
	story := `{"AssetType":"Story","Name":"a story that is only looked at","Scope":"Scope:0","Description":"what it is about"}`
	previewed := "[" + story + strings.Repeat(","+story, part(40_000)) + "]"
	aliases := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		aliases += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	return []bomb{
		{"commands that are previewed", bulk + "?previewOnly=true", json, "", []byte(previewed), 8},
		{"values in gzip", bulk, json, "gzip", zipped("[" + strings.Repeat("1,", part(1_900_000)) + "1]"), 8},
		{"blanks in gzip", bulk, json, "gzip", zipped(strings.Repeat(" ", part(60*mib)) + "[]"), 16},
		{"more than may be unpacked", bulk, json, "gzip", zipped(strings.Repeat(" ", part(500*mib))), 8},
		{"lists in lists", bulk, json, "", []byte(strings.Repeat("[", part(20*mib))), 8},
		{"values in YAML", bulk, yaml, "", []byte("x: [" + strings.Repeat("1,", part(1_000_000)) + "1]"), 8},
		{"aliases in YAML", bulk, yaml, "", []byte(aliases), 16},
		{"one long name", bulk, json, "", []byte(`{"from":"Story","` + strings.Repeat(">", part(30*mib)) + `":1}`), 8},
		{"one long text", bulk, json, "", []byte(`{"from":"Story","filter":["Name='` + strings.Repeat("a", part(30*mib)) + `'"]}`), 8},
	}
}

// xmlBombs returns bodies in XML. Some are as large as a body may be. Others just fit into the memory that
// one member may use, so that the server parses them.
func xmlBombs() []bomb {
	const path, media, name = "/rest-1.v1/Data/Story", "text/xml", `<Asset><Attribute name="Name">`
	entities := `<!DOCTYPE Asset [<!ENTITY a "aaaaaaaaaa">`
	for c := 'b'; c <= 'z'; c++ {
		entities += fmt.Sprintf(`<!ENTITY %c "%s">`, c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
	}
	return []bomb{
		{"elements in elements", path, media, "", []byte(strings.Repeat("<a>", part(20*mib))), 8},
		{"fewer elements in elements", path, media, "", []byte("<Asset>" + strings.Repeat("<a>", part(150_000))), 8},
		{"elements beside each other", path, media, "", []byte("<Asset>" + strings.Repeat(`<b c=""/>`, part(110_000)) + "</Asset>"), 8},
		{"elements in gzip", path, media, "gzip", zipped("<Asset>" + strings.Repeat("<a/>", part(15*mib)) + "</Asset>"), 8},
		{"attributes", path, media, "", []byte("<Asset " + strings.Repeat(`a="" `, part(12*mib)) + "/>"), 8},
		{"fewer attributes", path, media, "", []byte("<Asset " + strings.Repeat(`a="" `, part(400_000)) + "/>"), 8},
		{"a value without an end", path, media, "", []byte(`<Asset a="` + strings.Repeat("a", part(16*mib))), 8},
		{"entities", path, media, "", []byte(entities + "]>" + name + "&z;</Attribute></Asset>"), 16},
		{"a document type without an end", path, media, "", []byte(entities + strings.Repeat("<", part(60*mib))), 8},
		{"references", path, media, "", []byte(name + strings.Repeat("&lt;", part(4*mib)) + "</Attribute></Asset>"), 8},
		{"references without an end", path, media, "", []byte(name + strings.Repeat("&#", part(8*mib))), 8},
		{"one long name in a value", path, media, "", []byte(`<Asset><Attribute name="` + strings.Repeat(">", part(16*mib)) + `">x</Attribute></Asset>`), 8},
		{"comments", path, media, "", []byte(name + strings.Repeat("x<!-- -->", part(150_000)) + "</Attribute></Asset>"), 8},
		{"one long name", path, media, "", []byte("<" + strings.Repeat("a", part(16*mib)) + "/>"), 8},
		{"blanks in gzip", path, media, "gzip", zipped("<Asset>" + strings.Repeat(" ", part(60*mib)) + "</Asset>"), 16},
	}
}

// TestBombs sends the bodies of bombs, many at a time, as a member. The bodies must not take more memory
// than allowed, and the server must release the memory afterwards.
func TestBombs(t *testing.T) { explode(t, bombs()) }

// TestXMLBombs is like TestBombs, with the bodies of xmlBombs.
func TestXMLBombs(t *testing.T) { explode(t, xmlBombs()) }

// bodyMemory is ALDS_BODY_MEMORY, in bytes. Bodies may add twice as much memory to the process, because Go
// collects garbage only after the heap has doubled.
func bodyMemory() int64 { return int64(depth(128, 256)) * mib }

// part scales n, the size of a bomb, to bodyMemory. With -short it returns half of n, because bodyMemory is
// then half as large as without -short.
func part(n int) int { return n * int(bodyMemory()) / (256 * mib) }

func explode(t *testing.T, all []bomb) {
	t.Helper()
	beside(t)
	s := newSite(t, "sqlite", setup{settings: []string{fmt.Sprintf("ALDS_BODY_MEMORY=%d", bodyMemory())}})
	who := s.member("bomber")
	o := s.watch(s.stories(200, nil)[0])
	c := from(attacker)
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			senders := depth(b.senders/2, b.senders)
			var seen tally
			a := attack{
				memory: o.before + 2*bodyMemory(), lasts: 2 * time.Second, seen: &seen, turns: 4 * senders,
				most: metrics{memoryTaken: float64(bodyMemory()/2 + 8*mib)}, // one member may use half of bodyMemory
				run: func(ctx context.Context, on func()) {
					on()
					flood(ctx, senders, 50*time.Millisecond, func(int, int) { seen.add(s.throw(c, who, b)) })()
				},
			}
			if b.large() {
				a.most[running] = float64(largeRequests() + 1) // plus the request of the second member
			}
			o.during(t, a)
			seen.only(t, noAnswer, 200, 400, 413, 503)
		})
	}
	c.CloseIdleConnections()
	o.settles()
}

// large reports whether the body counts as large. The server runs only a few requests with large bodies at
// a time.
func (b bomb) large() bool { return len(b.body) > 64<<10 || b.encoding != "" }

// noAnswer stands for the status of a request that got no answer, because the connection was closed while
// the client was still sending.
const noAnswer = 0

// throw sends a bomb and returns the status of the answer. The parameter who is the sender, as
// "name:password".
func (s *site) throw(c *http.Client, who string, b bomb) int {
	ctx, cancel := context.WithTimeout(s.t.Context(), giveUp)
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
	_, _ = io.Copy(io.Discard, res.Body) // a truncated answer counts as an answer
	return res.StatusCode
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // writing to memory never fails
	_ = z.Close()
	return b.Bytes()
}

// basic returns the value of an Authorization header. who is "name:password".
func basic(who string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(who))
}
