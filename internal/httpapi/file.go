package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/store/blob"
)

// span is a range of a content: n bytes, beginning at the zero-based offset from.
type span struct {
	from, n int64
	part    bool // the client asked for a range, not for the whole content
}

// rangeOf reads a Range header for a content of size bytes. It returns the whole content if
// the header is invalid or has several ranges, because HTTP allows a server to ignore these. ok
// is false if the content has no byte of the range.
//
//	bytes=0-99   bytes=100-   bytes=-100
func rangeOf(header string, size int64) (s span, ok bool) {
	whole := span{n: size}
	unit, text, _ := strings.Cut(header, "=")
	first, last, isRange := strings.Cut(strings.TrimSpace(text), "-")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") || !isRange || !isPosition(first) || !isPosition(last) || first+last == "" {
		return whole, true
	}
	if first == "" { // bytes=-100: the last 100 bytes
		n := min(position(last), size)
		return span{from: size - n, n: n, part: true}, n > 0
	}
	from, to := position(first), size-1
	if last != "" {
		if position(last) < from {
			return whole, true
		}
		to = min(to, position(last))
	}
	return span{from: from, n: to - from + 1, part: true}, from < size
}

func isPosition(text string) bool { return strings.Trim(text, "0123456789") == "" }

// position reads digits. If the number is too large for int64, it returns the largest int64,
// which is after the end of every content.
func position(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return n
}

// tagOf returns the ETag of an answer with a content. It changes with the bytes, the
// Content-Type and the Content-Disposition.
func tagOf(ref blob.Ref, media, disposition string) string {
	sum := sha256.Sum256([]byte(ref.Hash + "\n" + media + "\n" + disposition))
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// binary is the Content-Type of a content whose type is unknown.
const binary = "application/octet-stream"

// maxMedia is the maximum length in bytes of a Content-Type. A longer Content-Type is replaced by
// binary.
const maxMedia = 200

// mediaType returns the Content-Type that a member wrote, or binary if it is not valid.
func mediaType(written string) string {
	written = strings.TrimSpace(written)
	media, params, err := mime.ParseMediaType(written)
	if err != nil || len(written) > maxMedia || !strings.Contains(media, "/") {
		return binary
	}
	if text := mime.FormatMediaType(media, params); text != "" {
		return text
	}
	return binary
}

// shown are the types that a browser displays. None of them can contain a script. A browser
// saves all other types to a file.
var shown = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
	"image/x-icon": true, "image/vnd.microsoft.icon": true, "text/plain": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true, "video/mp4": true, "video/webm": true, "video/ogg": true,
}

// disposition returns a Content-Disposition: whether a browser displays or saves the content,
// and the file name. A name that is not plain ASCII is added a second time, in UTF-8.
func disposition(media, name string) string {
	kind := "attachment"
	if media, _, _ = strings.Cut(media, ";"); shown[media] {
		kind = "inline"
	}
	name = fileName(name)
	if name == "" {
		return kind
	}
	plain := strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	text := kind + `; filename="` + plain + `"`
	if plain != name {
		text += "; filename*=UTF-8''" + percent(name)
	}
	return text
}

// maxName is the maximum length of a file name in bytes. File systems accept names of this length.
const maxName = 200

// fileName returns the last part of a path, cut to maxName bytes. It removes control
// characters and format characters, which can reverse the direction of text.
func fileName(written string) string {
	name := written[strings.LastIndexAny(written, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, name)
	for len(name) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return strings.Trim(name, " .")
}

// percent encodes a text for the parameter filename*.
func percent(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
