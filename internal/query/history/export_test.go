package history

import "context"

// SettleStep calls settle once. It reports whether there is more to do.
func (p *Pruner) SettleStep(ctx context.Context) (more bool, err error) {
	_, more, err = p.settle(ctx)
	return more, err
}
