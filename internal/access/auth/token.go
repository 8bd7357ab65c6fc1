package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
)

const (
	tokenPrefix = "1."
	tokenBytes  = 32
	maxToken    = 256 // maximum length of a token in a request, in bytes
	maxName     = 255 // maximum length of the name of a token, in characters
)

// newToken returns a new token: 256 random bits, in the form that existing clients expect.
//
// Shape: 1.<base64>, such as "1.oP0wSvmE…Xk=".
func newToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b)
	return tokenPrefix + base64.StdEncoding.EncodeToString(b)
}

// hashToken returns the stored form of a token. A token has 256 random bits, so it
// needs no salt and no slow hash.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// cachedToken is an access token whose member may log in.
type cachedToken struct {
	id          string
	name        string
	member      int64
	expires     time.Time // zero: never
	lastUsed    time.Time // zero: never
	lastAddress string    // network of the last use; empty: unknown
	session     bool
	bounds      *Bounds // nil: none
	changes     int64   // value of Service.loginChanges before the read
}

func (t cachedToken) hasExpired(now time.Time) bool {
	return !t.expires.IsZero() && !now.Before(t.expires)
}

// Bearer verifies an access token. A revoked token is refused at the latest one second after its
// revocation. An expired token is refused immediately, and so is a token from an address that its
// bounds do not name.
// Errors: fault.Unproven; fault.Transient if ctx ends or the database is not available.
// Spec: interface 5.3.
func (s *Service) Bearer(ctx context.Context, token string) (l Login, err error) {
	if token == "" || len(token) > maxToken {
		return Login{}, s.refuse(ctx, bearer, 0, errWrongToken(reasonToken))
	}
	hash, outcome := hashToken(token), remembered
	t, ok := s.knownToken(hash, maxAge)
	if !ok {
		t, err = s.tokenReads.do(ctx, hash)
		if fault.KindOf(err) == fault.NotFound {
			return Login{}, s.refuse(ctx, bearer, 0, errWrongToken(reasonToken))
		}
		if err != nil {
			return Login{}, s.refuse(ctx, bearer, 0, err)
		}
		outcome = verified
	}
	now := s.now()
	if t.hasExpired(now) {
		return Login{}, s.refuse(ctx, bearer, t.member, errWrongToken(reasonExpired))
	}
	address := trail.OriginOf(ctx).Address
	if !t.bounds.accepts(address) {
		return Login{}, s.refuse(ctx, bearer, t.member, errWrongToken(reasonAddress))
	}
	from := network(address)
	s.usage.record(t, from, now)
	s.m.logins.WithLabelValues(bearer, outcome).Inc()
	s.entered(ctx, bearer, signIn{t.member, from, t.id})
	return Login{Member: t.member, provenAt: now, token: hash, tokenID: t.id, tokenName: t.name, session: t.session, bounds: t.bounds}, nil
}

// knownToken returns a token from the cache. The token must have been read less than age ago, and
// after the last change of logins by this process.
func (s *Service) knownToken(hash string, age time.Duration) (cachedToken, bool) {
	t, ok := s.tokens.getWithin(hash, age)
	return t, ok && t.changes == s.loginChanges.Load()
}

// LoginsChanged must be called after this process has committed a write that may have ended
// tokens. From then on, the process refuses these tokens.
func (s *Service) LoginsChanged() { s.loginChanges.Add(1) }

// readTokens reads and caches tokens by their hashes.
func (s *Service) readTokens(ctx context.Context, hashes []string) (map[string]cachedToken, error) {
	changes, began := s.loginChanges.Load(), s.now()
	found, err := s.findTokens(ctx, hashes)
	for hash, t := range found {
		t.changes = changes
		found[hash] = t
		s.tokens.put(hash, t, began)
	}
	return found, err
}

func errWrongToken(reason string) error {
	return refusal{fault.Unprovenf("The access token is not valid"), refused, reason}
}
