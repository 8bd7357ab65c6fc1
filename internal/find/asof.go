package find

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/value"
)

// mode returns the time a query asks for; the moment of an instant is not known
// yet.
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

// MomentOf returns the highest moment stamped at or before an instant.
func MomentOf(ctx context.Context, q db.Querier, at int64) (int64, error) {
	var moment *int64
	err := q.QueryRow(ctx, "SELECT MAX(last_moment) FROM moment_stamp WHERE at <= ?", at).Scan(&moment)
	if err != nil || moment == nil {
		return 0, err
	}
	return *moment, nil
}
