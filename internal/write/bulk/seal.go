package bulk

import (
	"context"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/write/asset"
)

// seal returns the hashes of the secrets that commands set. The key of a hash is the node of the
// secret. All later forms of a command share this node. Hashing is slow, so seal is called before
// the transaction, which holds locks. A secret that is not a plain value is hashed later, when
// its step is executed.
// Errors: those of asset.Engine.Seal.
func (e *Engine) seal(ctx context.Context, who auth.Actor, commands []command) (map[*document.Node]string, error) {
	x := &sealing{Engine: e, who: who, sealed: map[*document.Node]string{}, few: !e.assets.SetsPasswords(who)}
	for i := range commands {
		c := &commands[i]
		if c.err != nil || c.kind != kindCreate && c.kind != kindUpdate {
			continue
		}
		if err := x.node(ctx, c.node); err != nil {
			return nil, err
		}
	}
	return x.sealed, nil
}

// sealing is the state of one call of seal.
type sealing struct {
	*Engine
	who    auth.Actor
	sealed map[*document.Node]string
	few    bool // true if the caller may only set their own password; limits hashes to asset.MaxOwnPasswords
	count  int  // number of hashed passwords
	wrong  int  // number of wrong old passwords
}

// maxWrong is the largest number of wrong old passwords in one request. After wrong passwords each
// check is delayed, so a request with many wrong passwords would run for a long time. slowDown is
// the time after which the client may send the next request.
const (
	maxWrong = 5
	slowDown = 2 * time.Second
)

// shown returns a step without old passwords, for an answer.
func shown(s *step) *step {
	hasOld := func(f field) bool { return isOldPassword(f.name) || has(f.node, isOldPassword) }
	if s.printsNode() && has(s.node, isOldPassword) || slices.ContainsFunc(s.fields, hasOld) {
		return withoutSecrets(s, isOldPassword)
	}
	return s
}

func isOldPassword(attr string) bool { return attr == asset.OldPassword }

// has reports whether a document has a matching key at any depth.
func has(n *document.Node, key func(string) bool) bool {
	return n != nil && (slices.ContainsFunc(n.Keys, key) ||
		slices.ContainsFunc(n.Items, func(v document.Node) bool { return has(&v, key) }))
}

// withoutSecrets returns a copy of a step with null in the place of every secret. If a client
// sends the copied command again, the command fails because the secret is missing.
func withoutSecrets(s *step, isSecret func(attr string) bool) *step {
	shown := *s
	if s.printsNode() {
		shown.node = redacted(s.node, isSecret)
	}
	shown.fields = make([]field, len(s.fields))
	for i, f := range s.fields {
		if shown.fields[i] = f; isSecret(f.name) {
			shown.fields[i].node = &document.Node{Kind: document.Null, At: f.node.At}
		} else {
			shown.fields[i].node = redacted(f.node, isSecret)
		}
	}
	return &shown
}

// redacted returns a copy of a document with null in the place of every secret.
func redacted(n *document.Node, isSecret func(attr string) bool) *document.Node {
	if n == nil || n.IsScalar() {
		return n
	}
	shown := *n
	shown.Items = make([]document.Node, len(n.Items))
	for i := range n.Items {
		if n.Kind == document.Map && isSecret(n.Keys[i]) {
			shown.Items[i] = document.Node{Kind: document.Null, At: n.Items[i].At}
			continue
		}
		shown.Items[i] = *redacted(&n.Items[i], isSecret)
	}
	return &shown
}

func (x *sealing) node(ctx context.Context, n *document.Node) error {
	for i := range n.Items {
		v := &n.Items[i]
		if !v.IsScalar() {
			if err := x.node(ctx, v); err != nil {
				return err
			}
			continue
		}
		if n.Kind != document.Map || x.few && x.count >= asset.MaxOwnPasswords && !isOldPassword(n.Keys[i]) {
			continue
		}
		if isOldPassword(n.Keys[i]) && x.wrong == maxWrong {
			return &auth.SlowDownError{After: slowDown}
		}
		s, err := x.assets.Seal(ctx, x.who, n.Keys[i], asset.ValueOf(v))
		if err != nil {
			return err
		}
		if isOldPassword(n.Keys[i]) && s == "" {
			x.wrong++
		}
		if s != "" {
			x.sealed[v] = s
			x.count++
		}
	}
	return nil
}
