package find

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// mode returns the time at which a query reads. For an instant, it returns the mode At and the
// instant in UTC microseconds. The moment of the instant is read later.
func mode(b query.Bound) (when query.When, instant int64, err error) {
	switch {
	case b.Moment != nil, b.AsOf.Text == query.AllVersions, b.History && b.AsOf.Text == "":
		return query.When{Mode: query.Version}, 0, nil
	case b.AsOf.Text == "":
		return query.When{}, 0, nil
	}
	at, ok := value.Instant(b.AsOf.Text)
	if !ok {
		return query.When{}, 0, fault.Invalidf(b.AsOf.At, "asof is no date: %s", b.AsOf.Text)
	}
	return query.When{Mode: query.At}, at, nil
}

// at reads the moment of an instant, and then plans the query. If the plan reads the past, at also
// returns the horizon of history.
// Errors: fault.Invalid for an instant before the horizon.
func (p *prepared) at(ctx context.Context, q db.Querier, by query.Reader) (h history.Horizon, err error) {
	switch {
	case p.plan == nil:
	case p.plan.Past:
		return history.Of(ctx, q)
	default:
		return h, nil
	}
	moment, h, err := history.MomentOf(ctx, q, p.instant)
	if err != nil {
		return h, fault.Placed(err, p.bound.AsOf.At)
	}
	p.plan, err = query.NewPlan(p.bound, query.Options{Reader: by, When: query.When{Mode: query.At, Moment: moment}})
	return h, err
}

// orGone replaces the result of a read of one version, if nothing was found and the version may be
// from before the horizon. It then returns an error that names the horizon. Otherwise it returns
// err unchanged.
func (x *executor) orGone(r *query.Request, err error) error {
	if err != nil && fault.KindOf(err) != fault.NotFound || x.handed > 0 || x.horizon.Moment == 0 || x.way == nothing || len(x.plan.Groups) > 0 {
		return err
	}
	if o, bad := oid.Parse(r.From.Text); bad == nil && o.Moment > 0 {
		if gone := x.horizon.CheckMoment(o.Moment); gone != nil {
			return gone
		}
	}
	return err
}
