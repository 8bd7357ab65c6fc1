package httpapi

import (
	"context"
	"net/http"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/undo"
)

// Undo takes back writes, for POST api/undo. The answer is the JSON to send. undone is false if
// conflicts have refused the undo.
type Undo interface {
	Run(ctx context.Context, who auth.Actor, r undo.Request) (answer []byte, undone bool, err error)
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
	answer, undone, err := r.engines.Undo.Run(ctx, who, u)
	if err == nil && !undone {
		r.status = http.StatusConflict
	}
	return answer, err
}
