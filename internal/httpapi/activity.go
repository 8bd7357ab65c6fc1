package httpapi

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/activity"
)

// Activity reports the changes of assets as activities.
type Activity interface {
	Stream(ctx context.Context, who auth.Actor, r activity.Request) (activity.Answer, error)
}

// activityStream serves GET api/ActivityStream/<Oid>. Spec: interface 4.5.
func (*API) activityStream(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	p := r.params
	answer, err := r.engines.Activity.Stream(ctx, who, activity.Request{
		OID: r.param("oid"), Anchor: p["anchordate"], Direction: p["direction"], MaxCount: p["maxcount"], Verbs: p["verbs"],
		After: p["after"], Deleted: p["deleted"],
	})
	if answer.Next > 0 && err == nil {
		r.headers = append(r.headers, [2]string{headerResult, `{"next":` + strconv.FormatInt(answer.Next, 10) + `}`})
	}
	return answer.Body, err
}
