package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// deleteExpression also deletes the conversation of an expression that is deleted. The
// conditions: the expression is the first in the conversation, all expressions have the same
// author, and the caller may delete the conversation. Effect.To deletes the expression itself.
func (o *operations) deleteExpression(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	id, err := o.relatedID(ctx, w, "BelongsTo")
	if err != nil || id == noID {
		return nil, err
	}
	alone, err := o.isFirstAndOnlyAuthor(ctx, w, id)
	if err != nil || !alone {
		return nil, err
	}
	if err := o.loaded.loadRows(ctx, []int64{id}); err != nil {
		return nil, err
	}
	conversation := o.loaded.rows[id]
	if conversation == nil || !runsInState(op, conversation.cur.code) {
		return nil, nil
	}
	allowed, err := o.s.e.finder.IDs(ctx, o.s.tx, o.s.Who(), query.Request{
		From: query.Text{Text: conversation.oid().String()}, Filter: []query.Text{{Text: "IsDeletable='true'"}},
	})
	if err != nil || len(allowed) == 0 {
		return nil, err
	}
	return nil, o.operateOnPart(ctx, conversation, op)
}

// isFirstAndOnlyAuthor reports whether an expression is the first in a conversation, and all
// expressions in the conversation have the same author.
func (o *operations) isFirstAndOnlyAuthor(ctx context.Context, w *row, conversation int64) (bool, error) {
	author, err := o.relatedID(ctx, w, "Author")
	if err != nil {
		return false, err
	}
	said, err := o.lockLinked(ctx, w.typ.Name, "BelongsTo", conversation)
	if err != nil {
		return false, err
	}
	for _, other := range said {
		by, err := o.relatedID(ctx, other, "Author")
		if err != nil || by != author || other.id < w.id {
			return false, err
		}
	}
	return true, nil
}

// relatedID returns the id of the target of a to-one relation, or noID if there is no target.
func (o *operations) relatedID(ctx context.Context, w *row, relation string) (int64, error) {
	a, ok := w.typ.Attr(relation)
	if !ok {
		return noID, unknownAttr(w.typ, relation)
	}
	return o.loaded.pointsTo(ctx, w, a)
}
