package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/events/delivery"
)

// How long deliveries are also signed with the previous secret. Units: seconds.
const (
	overlap    = 24 * 60 * 60 // by default
	maxOverlap = 30 * overlap
)

// rotation is the change that a request makes to the signing secrets.
type rotation struct {
	replaced bool     // the secret was replaced or removed
	before   optional // the replaced secret, sealed; empty if there was none
	validFor *int64   // validity of the replaced secret in seconds; nil if the request does not contain it
}

// setSecret replaces the signing secret; null removes it. If the request contains the current
// secret, nothing changes.
func (s *Service) setSecret(r *subscriptionRow, v *document.Node) error {
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

// setPreviousValid reads how long the previous secret stays valid; null ends its validity.
func (*Service) setPreviousValid(r *subscriptionRow, v *document.Node) error {
	if v.Kind == document.Null {
		r.rotation.validFor = new(int64)
		return nil
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if v.Kind != document.Number || err != nil || n < 0 || n > maxOverlap {
		return errWants(v.At, "previousSecretValidFor", "a number of seconds from 0 to "+strconv.Itoa(maxOverlap))
	}
	r.rotation.validFor = &n
	return nil
}

// rotate applies the rotation of this request. Validity begins at r.UpdatedAt. If the secret was
// not replaced, rotate only changes how long the previous secret is valid.
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

// previousValid returns how much longer the previous secret is valid. Units: seconds, rounded up.
func (r *subscriptionRow) previousValid() int64 {
	return max(0, (r.PreviousUntil-time.Now().UnixMicro()+999_999)/1_000_000)
}
