package bulk

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
)

// preview answers with the projection, a list of objects with one key each:
//
//	[{"@x": command}, ...]
func (e *Engine) preview(ctx context.Context, who auth.Actor, commands []command, cfg config) ([]byte, error) {
	var b []byte
	err := e.assets.DB().Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		steps, err := e.project(ctx, tx, who, commands, cfg)
		if err != nil {
			return err
		}
		b = append(b[:0], '[')
		for _, s := range steps {
			if s.noMatch || s.inParent {
				continue
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = key(append(b, '{'), s.label())
			if s.asWritten {
				b = appendNode(b, s.node)
			} else {
				b = appendStep(b, s)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
		return nil
	})
	return b, err
}
