package asset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/asset"
)

// A plan with too many changes ends when it has them, and does not execute the commands that follow.
func TestTooManyEffectsEndTheRequest(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.e.MaxEffects = 5
		s := w.must(story("a"), story("b"))
		err := w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(session *asset.Session) error {
			session.RecordEffect()
			first := update(s[0], "Name", "x", "Reference", "x", "Estimate", "1", "ToDo", "1", "Description", "x", "RequestedBy", "x")
			if _, err := session.Run(t.Context(), []*asset.Command{first}); err != nil {
				t.Errorf("the first command: %v", err)
			}
			_, err := session.Run(t.Context(), []*asset.Command{update(s[1], "Name", "x")})
			return err
		})
		if !errors.Is(err, asset.ErrReach) || !strings.Contains(err.Error(), "more than 5 changes") {
			t.Errorf("the second command: %v", err)
		}
	})
}
