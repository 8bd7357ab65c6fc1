package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Identity returns the hash that identifies a request under an Idempotency-Key: the
// hash of its text. The hash is stored, so that of a text with secrets is slow,
// and nobody who reads it guesses them.
// Errors: fault.Transient when ctx ends.
func (e *Engine) Identity(ctx context.Context, who auth.Actor, key string, text []byte, hasSecrets bool) (requests.Identity, error) {
	switch {
	case key == "":
		return requests.Identity{}, nil
	case !hasSecrets || e.creds == nil:
		sum := sha256.Sum256(text)
		return requests.Identity{Key: key, Hash: hex.EncodeToString(sum[:])}, nil
	}
	hash, err := e.creds.Digest(ctx, string(text), fmt.Sprintf("%d %s", who.Member, key))
	return requests.Identity{Key: key, Hash: hash}, err
}
