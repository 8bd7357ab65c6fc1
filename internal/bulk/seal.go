package bulk

import (
	"context"

	"github.com/alds-dev/alds/internal/doc"
)

// seal makes what is kept of the secrets that commands set, before the
// transaction and its locks. It is found by the node of the value, which every
// later form of the command shares; a secret in another form than a plain value
// is sealed when its turn comes.
// Errors: fault.Transient when ctx ends.
func (e *Engine) seal(ctx context.Context, commands []command) (map[*doc.Node]string, error) {
	sealed := map[*doc.Node]string{}
	for i := range commands {
		c := &commands[i]
		if c.err != nil || c.kind != kindCreate && c.kind != kindUpdate {
			continue
		}
		if err := e.sealNode(ctx, c.node, sealed); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

func (e *Engine) sealNode(ctx context.Context, n *doc.Node, sealed map[*doc.Node]string) error {
	for i := range n.Items {
		v := &n.Items[i]
		if !v.IsScalar() {
			if err := e.sealNode(ctx, v, sealed); err != nil {
				return err
			}
			continue
		}
		if n.Kind != doc.Map {
			continue
		}
		s, err := e.assets.Seal(ctx, n.Keys[i], value(v))
		if err != nil {
			return err
		}
		if s != "" {
			sealed[v] = s
		}
	}
	return nil
}
