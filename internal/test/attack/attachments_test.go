package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// senders is how many clients send and read attachments at the same time.
const senders = 8

// file is the content of an attachment to upload. id is the number of the attachment, and size is in bytes.
type file struct {
	id   string
	seed uint64
	size int64
}

// reader returns the content of a file. Its bytes are generated from the seed while they are read, so they
// are never all in memory.
func (f file) reader() io.Reader {
	var seed [32]byte
	seed[0], seed[1], seed[2] = byte(f.seed), byte(f.seed>>8), 7
	return io.LimitReader(rand.NewChaCha8(seed), f.size)
}

// files creates attachments with contents of up to 20 MiB: 20 attachments, or 10 with -short. The
// environment variable ATTACHMENTS sets another number.
func (s *site) files() (all []file) {
	s.t.Helper()
	n, err := strconv.Atoi(os.Getenv("ATTACHMENTS"))
	if err != nil {
		n = depth(10, 20)
	}
	story := s.stories(1, nil)[0]
	var commands []any
	for i := range n {
		commands = append(commands, map[string]any{"AssetType": "Attachment", "Name": fmt.Sprint(i), "ContentType": "image/png", "Asset": story})
	}
	for i, made := range s.post(commands) {
		f := file{id: strings.TrimPrefix(made, "Attachment:"), seed: uint64(i), size: int64(i)*20*mib/int64(n) + 1} //nolint:gosec // i is small
		if i == n-1 {
			f.size = 20 * mib
		}
		all = append(all, f)
	}
	return all
}

// each calls do for every file, from several goroutines, and returns all errors joined.
func each(all []file, do func(file) error) error {
	work := make(chan file)
	errs := make(chan error, len(all))
	var clients sync.WaitGroup
	for range senders {
		clients.Go(func() {
			for f := range work {
				errs <- do(f)
			}
		})
	}
	for _, f := range all {
		work <- f
	}
	close(work)
	clients.Wait()
	close(errs)
	var first error
	for err := range errs {
		first = errors.Join(first, err)
	}
	return first
}

// send uploads a file. Every second file is sent with chunked encoding, without a Content-Length.
func (s *site) send(c *http.Client, f file) error {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url("/attachment.img/"+f.id), f.reader())
	if err != nil {
		return err
	}
	if req.ContentLength = -1; f.seed%2 == 0 {
		req.ContentLength = f.size
	}
	req.SetBasicAuth("admin", adminPassword)
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if answer, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s of %d bytes: %d %s", f.id, f.size, res.StatusCode, answer)
	}
	return nil
}

// fetch downloads a file and compares its bytes.
func (s *site) fetch(c *http.Client, f file) error {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url("/attachment.img/"+f.id), nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth("admin", adminPassword)
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, want := sha256.New(), sha256.New()
	n, err := io.Copy(got, res.Body)
	_, _ = io.Copy(want, f.reader()) // writing to a hash never fails
	if err != nil || n != f.size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return fmt.Errorf("%s of %d bytes: %d, %d other bytes, %w", f.id, f.size, res.StatusCode, n, err)
	}
	return nil
}

// TestAttachments uploads attachments from eight clients, kills the process, starts it again and reads the
// attachments back. It fails if the process ever used over 60 MiB more memory than when it was idle.
func TestAttachments(t *testing.T) {
	beside(t)
	s := newSite(t, "mysql", setup{settings: []string{"ALDS_REQUEST_TIMEOUT=10m"}})
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	all := s.files()
	idle, _ := s.proc.Memory()
	began := time.Now()
	if err := each(all, func(f file) error { return s.send(c, f) }); err != nil {
		t.Fatal(err)
	}
	sent := time.Since(began)
	_, most := s.proc.Memory()
	s.proc.Kill()
	s.start()
	began = time.Now()
	if err := each(all, func(f file) error { return s.fetch(c, f) }); err != nil {
		t.Fatal(err)
	}
	read := time.Since(began)
	_, mostRead := s.proc.Memory()
	var total int64
	for _, f := range all {
		total += f.size
	}
	t.Logf("%d attachments of %d MiB in all: sent in %s, read in %s; memory %d MiB idle, at most %d MiB while they were sent and %d MiB while they were read",
		len(all), total/mib, sent, read, idle/mib, most/mib, mostRead/mib)
	if more := max(most, mostRead) - idle; more > 60*mib {
		t.Errorf("%d MiB more than idle", more/mib)
	}
	s.sound()
}

// TestUploadsThatBreakOff uploads contents that never end, are too long, or do not have the announced
// length. The database must keep none of their bytes, and the attachment must keep its old content.
func TestUploadsThatBreakOff(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_MAX_ATTACHMENT=2MiB", "ALDS_REQUEST_TIMEOUT=1m"}, short: "mysql"}, func(t *testing.T, s *site) {
		story := s.stories(1, nil)[0]
		made := s.post([]any{map[string]any{"AssetType": "Attachment", "Name": "A", "Asset": story}})
		a := file{id: strings.TrimPrefix(made[0], "Attachment:"), seed: 1, size: 1000}
		if err := s.send(s.client, a); err != nil {
			t.Fatal(err)
		}
		head := "POST /alds/attachment.img/" + a.id + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + basic("admin:"+adminPassword) + "\r\n"
		half := strings.Repeat("x", mib)
		chunk := fmt.Sprintf("%x\r\n%s\r\n", mib, half)
		s.breakOff(t, true, map[string]string{
			"half of it":         head + "Content-Length: 2097152\r\n\r\n" + half,
			"a chunk and no end": head + "Transfer-Encoding: chunked\r\n\r\n" + chunk,
		})
		s.breakOff(t, false, map[string]string{ // the server ends these at once
			"a chunk that breaks":   head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "fffff\r\nabc",
			"a chunk without sense": head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "zz\r\n",
		})
		for name, raw := range map[string]string{
			"longer than may be":           head + "Content-Length: 2097153\r\n\r\n" + half,
			"longer than any number":       head + "Content-Length: 9999999999999\r\n\r\n" + half,
			"chunks longer than may be":    head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + "0\r\n\r\n",
			"packed and longer, in chunks": head + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + inChunks(zipped(half+half+half)),
		} {
			if status, whole := s.raw(t, raw); status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %d %.200s", name, status, whole)
			}
		}
		s.unfinished(t)
		if err := s.fetch(s.client, a); err != nil {
			t.Error(err)
		}
		s.proc.MustRun()
		s.sound()
	})
}

func inChunks(b []byte) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(b), b) }

// breakOff starts each upload four times and then closes the connections. If stored is true, it first waits
// until some of the content is in the database.
func (s *site) breakOff(t *testing.T, stored bool, uploads map[string]string) {
	t.Helper()
	var open []net.Conn
	for name, raw := range uploads {
		for range 4 {
			conn, err := s.dial()
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, conn)
			if _, err := io.WriteString(conn, raw); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if stored {
		if _, parts, ok := s.stored(t, func(_, parts int) bool { return parts > 1 }); !ok {
			t.Errorf("no upload has begun to be stored: %d parts are there", parts)
		}
	}
	for _, conn := range open {
		_ = conn.Close()
	}
}

// unfinished waits until the database has no unfinished upload, only the content of the one attachment.
func (s *site) unfinished(t *testing.T) {
	t.Helper()
	contents, parts, ok := s.stored(t, func(contents, parts int) bool { return contents == 1 && parts == 1 })
	if !ok {
		t.Errorf("%d contents of %d parts are there, not the one of the attachment", contents, parts)
	}
}

// stored waits until wanted returns true for the numbers of contents and of parts in the database. ok is
// false if that did not happen within giveUp.
func (s *site) stored(t *testing.T, wanted func(contents, parts int) bool) (contents, parts int, ok bool) {
	t.Helper()
	d, err := db.Open(t.Context(), s.database, db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for end := time.Now().Add(giveUp); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := d.QueryRow(ctx, "SELECT COUNT(*) FROM blob_content").Scan(&contents)
		if err == nil {
			err = d.QueryRow(ctx, "SELECT COUNT(*) FROM blob_part").Scan(&parts)
		}
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if wanted(contents, parts) {
			return contents, parts, true
		}
	}
	return contents, parts, false
}
