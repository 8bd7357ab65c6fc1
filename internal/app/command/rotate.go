package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/events/webhook"
)

// rotateCommand encrypts all stored secrets with a new key.
type rotateCommand struct{}

// Run encrypts all stored secrets with the first key of ALDS_SECRET_KEY. The service may run
// meanwhile.
// Errors: a secret that none of the keys can decrypt.
func (rotateCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		box, err := i.Key(ctx)
		if err != nil {
			return err
		}
		if box == nil {
			return errors.New("ALDS_SECRET_KEY is not set: set it to the new key and the key before it, separated by a comma")
		}
		n, err := webhook.RotateKey(ctx, i.DB, box)
		if _, printed := fmt.Fprintf(o.stdout, "sealed anew: %d\n", n); printed != nil {
			return printed
		}
		if err != nil {
			return fmt.Errorf("rotate-key: %w", err)
		}
		return nil
	})
}
