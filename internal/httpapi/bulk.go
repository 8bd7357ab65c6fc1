package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// runBulk serves POST api/asset. Spec: interface 4.3.
func (a *API) runBulk(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	d, err := r.doc()
	if err != nil {
		return nil, err
	}
	moment, err := ifMoment(r.ifMatch)
	if err != nil {
		return nil, err
	}
	return a.bulk.Run(ctx, who, BulkRequest{
		Doc:      d,
		Preview:  r.params.Is("previewonly"),
		Atomic:   r.params.Is("atomic"),
		Comment:  unquoted(r.params["comment"]),
		Key:      r.key,
		IfMoment: moment,
	})
}

// unquoted strips the one pair of quotes that some clients put around a comment.
func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	return s
}
