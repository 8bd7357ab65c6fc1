package httpapi

import (
	"context"
	"net/http"
	"path"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/undo"
)

// Bulk executes the commands of POST api/asset. The bodies that it returns are the JSON to
// send.
type Bulk interface {
	Run(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error)
	Accept(ctx context.Context, who auth.Actor, r bulk.Request) (bulk.Accepted, error)
	Progress(ctx context.Context, who auth.Actor, id string) ([]byte, error)
}

// runBulk serves POST api/asset. Spec: interface 4.3.
func (*API) runBulk(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	if id := r.params["plan"]; id != "" && id != "true" && id != "false" {
		return r.applyPlan(ctx, who, id)
	}
	b, err := bulkRequest(r)
	if err != nil {
		return nil, err
	}
	planned, err := r.makesPlan(b.Preview)
	if err != nil {
		return nil, err
	}
	if planned {
		return r.engines.Plans.Make(ctx, who, b)
	}
	if !r.async {
		return r.engines.Bulk.Run(ctx, who, b)
	}
	accepted, err := r.engines.Bulk.Accept(ctx, who, b)
	if err != nil {
		return nil, err
	}
	return r.accepted(accepted), nil
}

// accepted answers that a request was accepted. Its progress is at api/asset/<id>.
func (r *request) accepted(a bulk.Accepted) []byte {
	base := path.Join(path.Dir(r.base), "asset")
	r.headers = append(r.headers, [2]string{"Preference-Applied", respondAsync}, [2]string{"Location", base + "/" + a.ID})
	if !a.Done {
		r.status = http.StatusAccepted
	}
	return r.ended(a.Body)
}

// ended returns an answer, and sets the status if it is that of an undo that conflicts have refused.
func (r *request) ended(body []byte) []byte {
	if undo.IsRefused(body) {
		r.status = http.StatusConflict
	}
	return body
}

func bulkRequest(r *request) (b bulk.Request, err error) {
	if b.Body, err = r.body(); err != nil {
		return b, err
	}
	if b.IfMoment, err = ifMoment(r.ifMatch); err != nil {
		return b, err
	}
	if b.Preview, err = r.params.flag("previewOnly"); err != nil {
		return b, err
	}
	b.YAML, b.Comment, b.Key = r.isYAML(b.Body), unquoted(r.params["comment"]), r.key
	b.Atomic, err = r.params.flag("atomic")
	return b, err
}

// bulkProgress serves GET api/asset/<requestId>. Spec: interface 2.5.
func (*API) bulkProgress(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.engines.Bulk.Progress(ctx, who, r.param("requestId"))
	return r.ended(body), err
}

// respondAsync is the value of Prefer that asks for an answer before the request is executed.
const respondAsync = "respond-async"

// unquoted removes the quotes that some clients put around a parameter.
func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	return s
}
