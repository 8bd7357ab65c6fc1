package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Identity returns what identifies a request under an Idempotency-Key: the key and a hash of
// the text of the request. The hash is stored. It is a slow hash if the text contains
// secrets, so that a reader of the database cannot guess them. An empty key returns the zero
// Identity.
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
