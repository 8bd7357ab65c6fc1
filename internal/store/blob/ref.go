package blob

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
)

// Ref identifies a content. A version of an asset has a Ref instead of the bytes.
type Ref struct {
	Hash string // SHA-256, 64 digits in lower case
	Size int64  // bytes
}

const prefix = "sha256:"

// RefOf returns the reference of a content.
func RefOf(content []byte) Ref {
	sum := sha256.Sum256(content)
	return Ref{Hash: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// IsZero reports whether r refers to no content.
func (r Ref) IsZero() bool { return r.Hash == "" }

// String returns the stored form sha256:<digits>:<size>, which is never valid Base64.
func (r Ref) String() string { return prefix + r.Hash + ":" + strconv.FormatInt(r.Size, 10) }

// ParseRef converts the stored form to a Ref. It returns false for any other text, including all
// Base64.
func ParseRef[T ~string | ~[]byte](text T) (Ref, bool) {
	rest, ok := strings.CutPrefix(string(text[:min(len(text), 2*len(prefix)+sha256.Size*2+20)]), prefix)
	hash, size, two := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || !two || err != nil || n < 0 || len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return Ref{}, false
	}
	return Ref{Hash: hash, Size: n}, true
}

// Base64Len returns the length of the content's Base64.
func (r Ref) Base64Len() int64 { return int64(base64.StdEncoding.EncodedLen(int(r.Size))) }
