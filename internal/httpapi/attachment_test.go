package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/write/attachment"
)

// stored is the content of every attachment that engines finds.
const stored = "0123456789"

func (engines) Find(_ context.Context, _ auth.Actor, types []string, id string) (attachment.File, error) {
	return attachment.File{
		OID: oid.OID{Type: types[0], ID: 7}, Content: blob.RefOf([]byte(stored)), ContentType: "text/plain",
		Name: strings.Join(types, "+") + " " + id,
	}, nil
}

func (e engines) ToChange(ctx context.Context, who auth.Actor, types []string, id string) (attachment.File, error) {
	return e.Find(ctx, who, types, id)
}

func (engines) Limit() int64 { return maxBody }

func (engines) UploadMemory(bool) int64 { return 1 }

func (engines) Upload(_ context.Context, r io.Reader, _ int64) (blob.Ref, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if len(b) > maxBody {
		err = blob.ErrTooLarge
	}
	return blob.RefOf(b), err
}

func (engines) Open(_ context.Context, _ blob.Ref, from, n int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(stored[from : from+n])), nil
}

// attachmentRoutes calls every route of attachments and images, and every alias of these
// routes.
func attachmentRoutes(t *testing.T, a *API) {
	t.Helper()
	for first, types := range map[string]string{
		"attachment.img": "Attachment+Image", "attachment.v1": "Attachment+Image", "attachment.oauth.img": "Attachment+Image",
		"attachment.oauth.v1": "Attachment+Image", "embedded.img": "EmbeddedImage", "embedded.oauth.img": "EmbeddedImage",
	} {
		path := "/alds/" + first + "//7"
		resp, got := call(t, a, "GET", path, "")
		if want := `inline; filename="` + types + ` 7"`; resp.StatusCode != http.StatusOK || got != stored || resp.Header.Get("Content-Disposition") != want {
			t.Errorf("%s: %d %q, %s", path, resp.StatusCode, got, resp.Header.Get("Content-Disposition"))
		}
		head, got := call(t, a, "HEAD", path, "")
		if head.StatusCode != http.StatusOK || got != "" || head.ContentLength != int64(len(stored)) || head.Header.Get("ETag") != resp.Header.Get("ETag") {
			t.Errorf("HEAD %s: %d %q, %d bytes", path, head.StatusCode, got, head.ContentLength)
		}
		typ, _, _ := strings.Cut(types, "+")
		_, got = call(t, a, "POST", path, "abc", "Content-Type", "image/png")
		if !strings.Contains(got, "write /alds/rest-1.v1/Data type="+typ+" id=7 op=") {
			t.Errorf("POST %s: %s", path, got)
		}
	}
}

// TestRanges checks the answers to Range headers: a part for one range, the whole content for
// several or invalid ranges, and 416 with the size for a range after the end.
func TestRanges(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	resp, _ := call(t, a, "GET", "/alds/attachment.img/7", "")
	tag := resp.Header.Get("ETag")
	absurd := "bytes=" + strings.Repeat("0-,", 3000) + "1-2"
	for _, c := range []struct{ span, ifRange, body, contentRange string }{
		{"bytes=0-3", "", "0123", "bytes 0-3/10"},
		{"BYTES = 2-2", "", "2", "bytes 2-2/10"},
		{"bytes=7-", "", "789", "bytes 7-9/10"},
		{"bytes=-4", "", "6789", "bytes 6-9/10"},
		{"bytes=-99999999999999999999999", "", stored, "bytes 0-9/10"},
		{"bytes=3-99999999999999999999999", "", "3456789", "bytes 3-9/10"},
		{"bytes=0-3", tag, "0123", "bytes 0-3/10"},
		{"bytes=0-3", `"another"`, stored, ""},
		{"bytes=0-3", "W/" + tag, stored, ""},
		{"bytes=0-3", "Mon, 02 Jan 2034 15:04:05 GMT", stored, ""},
		{"bytes=10-", "", "", "bytes */10"},
		{"bytes=99999999999999999999999-", "", "", "bytes */10"},
		{"bytes=-0", "", "", "bytes */10"},
		{"bytes=5-2", "", stored, ""},
		{"bytes=-", "", stored, ""},
		{"bytes=", "", stored, ""},
		{"bytes", "", stored, ""},
		{"bytes=a-b", "", stored, ""},
		{"bytes=+1-2", "", stored, ""},
		{"bytes=--1", "", stored, ""},
		{"bytes=0x1-2", "", stored, ""},
		{"bytes=0-1,4-5", "", stored, ""},
		{"items=0-1", "", stored, ""},
		{absurd, "", stored, ""},
	} {
		header := []string{"Range", c.span}
		if c.ifRange != "" {
			header = append(header, "If-Range", c.ifRange)
		}
		resp, body := call(t, a, "GET", "/alds/attachment.img/7", "", header...)
		want := http.StatusPartialContent
		switch {
		case c.body == "":
			want = http.StatusRequestedRangeNotSatisfiable
			body = ""
		case c.contentRange == "":
			want = http.StatusOK
		}
		if resp.StatusCode != want || body != c.body || resp.Header.Get("Content-Range") != c.contentRange {
			t.Errorf("%.40s, If-Range %s: %d %q %s", c.span, c.ifRange, resp.StatusCode, body, resp.Header.Get("Content-Range"))
		}
	}
	for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		resp, body := call(t, a, "GET", "/alds/attachment.img/7", "", "If-None-Match", known, "Range", "bytes=0-1")
		if resp.StatusCode != http.StatusNotModified || body != "" || resp.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d %q", known, resp.StatusCode, body)
		}
	}
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"bytes=0-1", "bytes=-5", "bytes=9-", "bytes=1-0", "bytes=,"} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		size = max(size, 0)
		s, ok := rangeOf(header, size)
		if ok && (s.from < 0 || s.n < 0 || s.from+s.n > size || s.part && s.n == 0 || !s.part && s.n != size) {
			t.Errorf("%q of %d bytes: %+v", header, size, s)
		}
	})
}

// TestUploads checks that a body of any type is accepted and decompressed. It is refused if it
// is too large, cannot be decompressed, or comes from a page of another site.
func TestUploads(t *testing.T) {
	a := newAPI(engines{}, io.Discard)
	long := strings.Repeat("x", maxBody+1)
	for _, c := range []struct {
		why, body string
		status    int
		header    []string
	}{
		{"a form", "a=b", 200, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"no type", "a", 200, nil},
		{"nothing", "", 200, nil},
		{"as long as may be", long[1:], 200, nil},
		{"longer", long, 413, nil},
		{"packed", zip("abc"), 200, []string{"Content-Encoding", "gzip"}},
		{"packed and longer", zip(long), 413, []string{"Content-Encoding", "gzip"}},
		{"not packed as it says", "abc", 400, []string{"Content-Encoding", "gzip"}},
		{"packed and cut off", zip("abc")[:14], 400, []string{"Content-Encoding", "gzip"}},
		{"packed in another way", "abc", 400, []string{"Content-Encoding", "br"}},
		{"text from an own page", "a", 200, []string{"Origin", "http://x", "Content-Type", "text/plain"}},
		{"a page of another site", "a", 403, []string{"Origin", "http://y", "Content-Type", "image/png"}},
		{"a form of another site", "a", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"a moment that is none", "a", 400, []string{"If-Match", "x"}},
	} {
		resp, body := call(t, a, "POST", "/alds/attachment.img/7", c.body, c.header...)
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, body)
		}
	}
}

// TestHeadersOfFiles checks that the type and name of an attachment cannot add other headers
// to the answer, and that a browser displays only types without scripts.
func TestHeadersOfFiles(t *testing.T) {
	for _, c := range []struct{ written, name, media, disposition string }{
		{"image/png", "a.png", "image/png", `inline; filename="a.png"`},
		{"Image/PNG", "", "image/png", `inline`},
		{"text/plain;charset=UTF-8", "a", "text/plain; charset=UTF-8", `inline; filename="a"`},
		{"text/html", "a.html", "text/html", `attachment; filename="a.html"`},
		{"image/svg+xml", "a.svg", "image/svg+xml", `attachment; filename="a.svg"`},
		{"text/xml", "a", "text/xml", `attachment; filename="a"`},
		{"application/pdf", "a", "application/pdf", `attachment; filename="a"`},
		{"", "a", binary, `attachment; filename="a"`},
		{"png", "a", binary, `attachment; filename="a"`},
		{"text/html\r\nSet-Cookie: a=b", "a", binary, `attachment; filename="a"`},
		{"image/png; x=\"\r\nSet-Cookie: a=b\"", "a", binary, `attachment; filename="a"`},
		{"image/png, text/html", "a", binary, `attachment; filename="a"`},
		{"image/" + strings.Repeat("x", 300), "a", binary, `attachment; filename="a"`},
		{"text/plain", "../../etc/passwd", "text/plain", `inline; filename="passwd"`},
		{"text/plain", `C:\temp\a.txt`, "text/plain", `inline; filename="a.txt"`},
		{"text/plain", "a\r\nSet-Cookie: x=y", "text/plain", `inline; filename="aSet-Cookie: x=y"`},
		{"text/plain", `a"; filename="b.exe`, "text/plain", `inline; filename="a_; filename=_b.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22b.exe`},
		{"text/plain", "ü%41.txt", "text/plain", `inline; filename="__41.txt"; filename*=UTF-8''%C3%BC%2541.txt`},
		{"text/plain", "txt.\u202eexe.gpj", "text/plain", `inline; filename="txt.exe.gpj"`},
		{"text/plain", "..", "text/plain", `inline`},
		{"text/plain", "\x00\x7f", "text/plain", `inline`},
	} {
		media := mediaType(c.written)
		if got := disposition(media, c.name); media != c.media || got != c.disposition {
			t.Errorf("%q, %q: %s, %s", c.written, c.name, media, got)
		}
	}
	if got := fileName(strings.Repeat("ü", 500)); len(got) != maxName || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func zip(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = fmt.Fprint(z, text)
	_ = z.Close()
	return b.String()
}
