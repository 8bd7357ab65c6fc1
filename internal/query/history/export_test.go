package history

import "context"

// SettleStep is the step that decides about doubted contents.
func (p *Pruner) SettleStep(ctx context.Context) (more bool, err error) {
	_, more, err = p.settle(ctx)
	return more, err
}
