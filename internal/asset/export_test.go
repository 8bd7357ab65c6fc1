package asset

import "context"

// Settle is settle, for the test of a commit whose answer was lost.
func (e *Engine) Settle(ctx context.Context, request string, lost error) error {
	return e.settle(ctx, request, lost)
}
