package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/events/delivery"
)

// Number of seconds during which deliveries are also signed with the previous secret.
const (
	overlap    = 24 * 60 * 60 // the default
	maxOverlap = 30 * overlap
)

// rotation is the change of the signing secrets that one request makes.
type rotation struct {
	replaced bool     // true: the request replaced or removed the secret
	before   optional // the replaced secret, sealed; empty: there was no secret
	validFor *int64   // validity of the replaced secret in seconds; nil: the request does not set it
}

// setSecret replaces the signing secret, or removes it for null. If the request contains the
// current secret, setSecret changes nothing.
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
		_, _ = rand.Read(key[:]) // Read never returns an error
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

// setPreviousValid reads how long the previous secret stays valid. For null, the validity ends at
// once.
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

// rotate applies the rotation of this request. The validity of the previous secret begins at
// r.UpdatedAt. If the secret was not replaced, rotate only changes how long the previous secret is
// valid.
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

// previousValid returns for how many more seconds the previous secret is valid, rounded up.
func (r *subscriptionRow) previousValid() int64 {
	return max(0, (r.PreviousUntil-time.Now().UnixMicro()+999_999)/1_000_000)
}
