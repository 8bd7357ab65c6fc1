package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/events/delivery"
)

// How long the previous secret signs too. Units: seconds.
const (
	overlap    = 24 * 60 * 60 // by default
	maxOverlap = 30 * overlap
)

// rotation is what a request changes about the signing secrets.
type rotation struct {
	replaced bool     // there is another secret than before
	before   optional // sealed: the one it replaces; empty for none
	validFor *int64   // seconds that the request names
}

// setSecret replaces the signing secret; null removes it. The same secret is no
// change.
func (s *Service) setSecret(r *subscriptionRow, v *doc.Node) error {
	var secret string
	if err := text(v, "secret", 200, &secret); err != nil {
		return err
	}
	if secret == "" {
		r.Secret, r.rotation.replaced, r.rotation.before = "", true, ""
		return nil
	}
	if secret == "generate" {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		secret = delivery.SecretPrefix + base64.StdEncoding.EncodeToString(key[:])
		r.newSecret = secret
	}
	if _, ok := delivery.SecretKey(secret); !ok {
		return errWants(v.At, "secret", `"generate", or whsec_ followed by base64 of 24 to 64 bytes`)
	}
	if plain, err := s.box.Open(string(r.Secret)); r.Secret != "" && err == nil && string(plain) == secret {
		return nil
	}
	r.rotation.replaced, r.rotation.before = true, r.Secret
	r.Secret = optional(s.box.Seal([]byte(secret)))
	return nil
}

// setPreviousValid sets how long the previous secret signs too.
func (*Service) setPreviousValid(r *subscriptionRow, v *doc.Node) error {
	if v.Kind == doc.Null {
		r.rotation.validFor = new(int64)
		return nil
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if v.Kind != doc.Number || err != nil || n < 0 || n > maxOverlap {
		return errWants(v.At, "previousSecretValidFor", "a number of seconds from 0 to "+strconv.Itoa(maxOverlap))
	}
	r.rotation.validFor = &n
	return nil
}

// rotate applies the rotation of this request, as of r.UpdatedAt. Without a new
// secret it only changes how long the previous one is valid.
func (r *subscriptionRow) rotate() {
	c := r.rotation
	if c.replaced {
		r.PreviousSecret = c.before
		r.PreviousUntil = r.UpdatedAt + overlap*1e6
	}
	if c.validFor != nil {
		r.PreviousUntil = r.UpdatedAt + *c.validFor*1e6
	}
	if r.PreviousSecret == "" || r.PreviousUntil <= r.UpdatedAt {
		r.PreviousSecret, r.PreviousUntil = "", 0
	}
}

// previousValid is how long the previous secret still signs. Units: seconds.
func (r *subscriptionRow) previousValid() int64 {
	return max(0, (r.PreviousUntil-time.Now().UnixMicro()+999_999)/1_000_000)
}
