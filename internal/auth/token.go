package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/fault"
)

const (
	tokenPrefix = "1."
	tokenBytes  = 32
	maxToken    = 256 // bytes of what a caller may send as a token
	maxName     = 255
)

// newToken returns 256 random bits in the form existing clients know.
//
// Shape: 1.<base64>, such as "1.oP0wSvmE…Xk=".
func newToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b)
	return tokenPrefix + base64.StdEncoding.EncodeToString(b)
}

// hashToken is what is stored of a token: it has 256 bits of its own, so no
// salt and no slow hash are needed.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// CreateToken makes an access token for the member with that username, who
// acts through it. The token is returned here and can never be read again.
// Errors: fault.NotFound for an unknown username, fault.Invalid for a name
// that is empty or too long.
func (s *Service) CreateToken(ctx context.Context, username, name string) (string, error) {
	if name == "" || len([]rune(name)) > maxName {
		return "", fault.Invalidf(fault.NoPlace, "a token needs a name of 1 to %d characters", maxName)
	}
	c, err := s.findCredential(ctx, username)
	if err != nil {
		return "", fmt.Errorf("find the member %q: %w", username, err)
	}
	token := newToken()
	return token, insertToken(ctx, s.db, tokenRow{
		id: uuid.NewString(), member: c.member, name: name, hash: hashToken(token), createdAt: time.Now().UnixMicro(),
	})
}

// Bearer proves an access token. Errors: fault.Unproven. Spec: interface 5.3.
func (s *Service) Bearer(ctx context.Context, token string) (Actor, error) {
	if token == "" || len(token) > maxToken {
		return Actor{}, s.refuse("bearer", refused, errWrongToken())
	}
	hash := hashToken(token)
	member, ok := s.tokens.get(hash)
	outcome := remembered
	if !ok {
		var err error
		now := s.now()
		member, err = s.findToken(ctx, hash, now.UnixMicro())
		if fault.KindOf(err) == fault.NotFound {
			return Actor{}, s.refuse("bearer", refused, errWrongToken())
		}
		if err != nil {
			return Actor{}, s.refuse("bearer", failed, err)
		}
		s.tokens.put(hash, member, now)
		outcome = verified
	}
	s.m.logins.WithLabelValues("bearer", outcome).Inc()
	return s.proven(ctx, member)
}

func errWrongToken() error { return fault.Unprovenf("The access token is not valid") }
