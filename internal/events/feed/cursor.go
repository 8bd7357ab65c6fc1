package feed

import (
	"context"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Cursor is a place in the feed. Of the write at Position, the changes with moments up to Moment
// come before this place. If Moment is 0, the place is before all changes of the write.
type Cursor struct{ Position, Moment int64 }

// String returns the cursor in the form that clients send back, such as "1272.1265".
func (c Cursor) String() string {
	return strconv.FormatInt(c.Position, 10) + "." + strconv.FormatInt(c.Moment, 10)
}

// cursor reads the parameter after. The parameter is a cursor, or the sequenceId of a change. A
// sequenceId means the place after that change, and 0 means the beginning of the feed. The error
// has the kind fault.Invalid.
func (s *Service) cursor(ctx context.Context, text string) (Cursor, error) {
	position, moment, isCursor := strings.Cut(text, ".")
	first, err := number(position)
	if err != nil {
		return Cursor{}, errAfter(text)
	}
	if !isCursor {
		if first == 0 {
			return Cursor{}, nil
		}
		return s.behind(ctx, first, text)
	}
	second, err := number(moment)
	if err != nil {
		return Cursor{}, errAfter(text)
	}
	return Cursor{first, second}, nil
}

// number reads a number that has only digits, without a sign and without a leading zero. It returns
// an error for db.Forever and larger numbers, because they are no position and no moment.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != text || n < 0 || n >= db.Forever {
		err = strconv.ErrSyntax
	}
	return n, err
}

// behind returns the place after the change with the given moment. text is the parameter after, for
// error messages.
func (s *Service) behind(ctx context.Context, moment int64, text string) (Cursor, error) {
	for positioned := false; ; positioned = true {
		var position *int64
		err := s.db.One(ctx, func(q db.Querier) error {
			return q.QueryRow(ctx, `SELECT a.feed FROM asset_version v JOIN audit a ON a.id = v.audit_id WHERE v.moment = ? LIMIT 1`, moment).Scan(&position)
		})
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return Cursor{}, s.orGone(ctx, moment, errAfter(text))
		case err != nil:
			return Cursor{}, err
		case position != nil:
			return Cursor{*position, moment}, nil
		case positioned: // Advance was called, but did not assign a position to the write
			return Cursor{}, errAfter(text)
		}
		if _, err := s.log.Advance(ctx); err != nil {
			return Cursor{}, err
		}
	}
}

// orGone returns the error for a sequenceId for which there is no change. Either the sequenceId is
// unknown, or its change is before the horizon, where history was removed.
func (s *Service) orGone(ctx context.Context, moment int64, unknown error) error {
	h, err := history.Of(ctx, s.db)
	if err == nil {
		err = h.CheckMoment(moment)
	}
	if err == nil {
		err = unknown
	}
	return err
}
