package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Identity returns the key of a request and a hash of its text. They identify a request that is
// sent again with the same Idempotency-Key. The hash is stored. If the text contains secrets, the
// hash is slow, so that a reader of the database cannot guess the secrets. For an empty key,
// Identity returns the zero value.
// Errors: fault.Transient when ctx ends.
func (e *Engine) Identity(
	ctx context.Context, who auth.Actor, key string, text []byte, hasSecrets bool,
) (requests.Identity, error) {
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
