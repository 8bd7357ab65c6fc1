package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Identity returns the key of a request and a hash of its text. They identify a request that is
// sent again with the same Idempotency-Key. The hash is stored. If the text contains secrets, the
// hash is slow, so that a reader of the database cannot guess the secrets. For an empty key, the
// result has only the access token. Requests with a token that has bounds share no key with other
// requests of the member.
// Errors: fault.Transient when ctx ends.
func (e *Engine) Identity(
	ctx context.Context, who auth.Actor, key string, text []byte, hasSecrets bool,
) (requests.Identity, error) {
	once := requests.Identity{Key: key, Token: who.Token}
	if who.Bounds != nil { // another token of the member may get another answer
		text = slices.Concat(text, []byte{'\n'}, []byte(who.Token))
	}
	switch {
	case key == "":
		return once, nil
	case !hasSecrets || e.creds == nil:
		sum := sha256.Sum256(text)
		once.Hash = hex.EncodeToString(sum[:])
		return once, nil
	}
	var err error
	once.Hash, err = e.creds.Digest(ctx, string(text), fmt.Sprintf("%d %s", who.Member, key))
	return once, err
}
