package clienttest

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// uploads maps the size of a content in bytes to the last status that a client must read.
var uploads = map[int]int{5 << 20: http.StatusOK, 25 << 20: http.StatusOK, 26 << 20: http.StatusRequestEntityTooLarge}

// slowLine is the rate of a slow connection in bytes a second. With -short, the rate is shortSlowLine, and
// clients send less.
const (
	slowLine      = 100_000
	shortSlowLine = 8 << 20
)

// uploadEndsIn is how long a program may take over a slow connection. The program sends the whole content
// twice.
const uploadEndsIn = 20 * time.Minute

// uploader returns the command line of a program that sends size bytes to a URL, and then prints the size
// and the status.
type uploader func(t *testing.T, url string, size int) []string

// uploaders returns programs that send credentials only after a 401. The key is the language.
func uploaders(t *testing.T) map[string]uploader {
	t.Helper()
	for _, program := range [][]string{
		{"python3", "--version"}, {"javac", "--version"}, {"mcs", "--version"}, {"node", "--version"}, {"curl", "--version"},
	} {
		testdb.Runs(t, program...)
	}
	dir := t.TempDir()
	run(t, "javac", "-encoding", "UTF-8", "-d", dir, "testdata/upload/Upload.java")
	sharp := filepath.Join(dir, "Upload.exe")
	run(t, "mcs", "-codepage:utf8", "-out:"+sharp, "testdata/upload/Upload.cs")
	script := func(more string, command ...string) uploader {
		return func(_ *testing.T, url string, size int) []string {
			return append(command[:len(command):len(command)], "admin", password, fmt.Sprintf("%s,%d%s", url, size, more))
		}
	}
	return map[string]uploader{
		"python":              script("", "python3", "testdata/upload/urllib.py"),
		"python requests":     script("", "python3", "testdata/upload/with_requests.py"),
		"java":                script("", "java", "-cp", dir, "Upload"),
		"node":                script("", "node", "testdata/upload/upload.cjs"),
		"mono":                script(",", "mono", sharp),
		"mono, asked to send": script(",expect", "mono", sharp),
		"curl --anyauth": func(t *testing.T, url string, size int) []string {
			t.Helper()
			file := filepath.Join(dir, strconv.Itoa(size)+t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
			if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{
				"curl", "--silent", "--show-error", "--anyauth", "--user", "admin:" + password, "--data-binary", "@" + file,
				"--output", os.DevNull, "--write-out", strconv.Itoa(size) + ` %{http_code}\n`, url,
			}
		},
		"go": nil,
	}
}

// TestUploadsAfterAChallenge tests clients that send credentials only after a 401. They must be able to
// read the 401, also over a slow connection. The service must store the content of their second request, or
// refuse it because of its size.
func TestUploadsAfterAChallenge(t *testing.T) {
	t.Parallel()
	programs := uploaders(t)
	base := start(t, "sqlite")
	c := connect(t, base)
	sizes, pace := uploads, slowLine
	if testing.Short() {
		sizes, pace = map[int]int{5 << 20: http.StatusOK}, shortSlowLine
	}
	slow := throttled(t, base, pace)
	for name, program := range programs {
		for line, to := range map[string]string{"fast": base, "slow": slow} {
			of := sizes
			if line == "fast" {
				of = uploads
			}
			for size, want := range of {
				t.Run(fmt.Sprintf("%s/%s %d", name, line, size>>20), func(t *testing.T) {
					t.Parallel()
					c.uploads(t, program, to, size, want)
				})
			}
		}
	}
}

// uploads sends size bytes with a program. It checks the status that the program printed, and the stored
// size.
func (c *client) uploads(t *testing.T, program uploader, to string, size, want int) {
	t.Helper()
	one := &client{t: t, base: c.base, model: c.model, tag: c.tag}
	made := one.send(object{"AssetType": "Attachment", "Name": t.Name(), "Asset": "Scope:0"})
	if len(made.AssetsCreated.OidTokens) != 1 {
		t.Fatal(made)
	}
	path := "/attachment.img/" + strings.TrimPrefix(made.AssetsCreated.OidTokens[0], "Attachment:")
	var got string
	if program == nil {
		got = fmt.Sprintf("%d %d\n", size, postTwice(t, to+path, size))
	} else {
		ctx, cancel := context.WithTimeout(t.Context(), uploadEndsIn)
		defer cancel()
		command := program(t, to+path, size)
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a program of this folder
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		got = string(out)
	}
	if expected := fmt.Sprintf("%d %d\n", size, want); got != expected {
		t.Errorf("%q, want %q", got, expected)
	}
	if want != http.StatusOK {
		size = 0
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, c.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("admin", password)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.ContentLength != int64(size) {
		t.Errorf("%d bytes are stored, want %d", answer.ContentLength, size)
	}
}

// postTwice does in Go what the programs of uploaders do. It writes a whole request before it reads the
// answer. After a 401 it sends the request again with credentials. It returns the status of the last
// answer.
func postTwice(t *testing.T, to string, size int) (status int) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, login := range []string{"", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+password)) + "\r\n"} {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", u.Path, login, size, strings.Repeat("x", size))
		if err != nil {
			t.Fatalf("sending: %v", err)
		}
		line := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, line); err != nil {
			t.Fatalf("reading: %v", err)
		}
		if status, err = strconv.Atoi(string(line[len(line)-3:])); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusUnauthorized {
			break
		}
	}
	return status
}

// throttled starts a proxy of the service and returns its URL. The proxy forwards pace bytes a second.
func throttled(t *testing.T, base string, pace int) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go forward(conn.(*net.TCPConn), u.Host, pace)
		}
	}()
	there := *u
	there.Host = l.Addr().String()
	return there.String()
}

// forward forwards the bytes of a client to an address, pace bytes a second.
func forward(client *net.TCPConn, to string, pace int) {
	defer func() { _ = client.Close() }()
	_ = client.SetReadBuffer(32 << 10)
	conn, err := net.Dial("tcp", to) //nolint:noctx // closed when the client ends
	if err != nil {
		return
	}
	service := conn.(*net.TCPConn)
	defer func() { _ = service.Close() }()
	answered := make(chan struct{})
	go func() {
		_, _ = io.Copy(client, service)
		_ = client.CloseWrite()
		close(answered)
	}()
	b := make([]byte, 16<<10)
	for {
		n, err := client.Read(b)
		if _, werr := service.Write(b[:n]); err != nil || werr != nil {
			break
		}
		time.Sleep(time.Duration(n) * time.Second / time.Duration(pace))
	}
	_ = service.CloseWrite()
	<-answered
}
