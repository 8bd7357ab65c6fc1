package asset_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/asset"
)

// TestContentsHaveABound checks that contents count as bytes that a request writes. A content that is the same for
// many assets counts once, because it is decoded and stored once.
func TestContentsHaveABound(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.e.MaxWritten = 1 << 20
		var all []*asset.Command
		for range 12 {
			all = append(all, create("Image", "", "ContentType", "image/png", "Content", "eDA="))
		}
		images := w.must(all...)
		one := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("1", 300<<10)))
		two := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("2", 300<<10)))
		run := func(contents ...string) error {
			return w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(session *asset.Session) error {
				for i, image := range images {
					if _, err := session.Run(t.Context(), []*asset.Command{update(image, "Content", contents[i%len(contents)])}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := run(one); err != nil {
			t.Errorf("the same content for all: %v", err)
		}
		if err := run(one, two); !errors.Is(err, asset.ErrReach) || !strings.Contains(err.Error(), "writes more than 1048576 bytes") {
			t.Errorf("two contents in turn: %v", err)
		}
	})
}
