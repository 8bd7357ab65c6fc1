package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/undo"
)

// Undo takes back writes, for POST api/undo. The answers are the JSON to send.
type Undo interface {
	Run(ctx context.Context, who auth.Actor, r undo.Request) ([]byte, error)
	AcceptUndo(ctx context.Context, who auth.Actor, r undo.Request) (bulk.Accepted, error)
}

// undoWrites serves POST api/undo. Spec: interface 4.17.
func (*API) undoWrites(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	var u undo.Request
	var err error
	if u.Body, err = r.body(); err != nil {
		return nil, err
	}
	if u.IfMoment, err = ifMoment(r.ifMatch); err != nil {
		return nil, err
	}
	if u.Preview, err = r.params.flag("previewOnly"); err != nil {
		return nil, err
	}
	u.YAML, u.Comment, u.Key = r.isYAML(u.Body), unquoted(r.params["comment"]), r.key
	planned, err := r.makesPlan(u.Preview)
	if err != nil {
		return nil, err
	}
	if planned {
		return r.engines.Plans.Make(ctx, who, bulk.Request{Undo: true, Body: u.Body, YAML: u.YAML, Comment: u.Comment, IfMoment: u.IfMoment})
	}
	if r.async {
		accepted, err := r.engines.Undo.AcceptUndo(ctx, who, u)
		if err != nil {
			return nil, err
		}
		return r.accepted(accepted), nil
	}
	answer, err := r.engines.Undo.Run(ctx, who, u)
	return r.ended(answer), err
}
