package feed

import (
	"context"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/db"
)

// Cursor is a place in the feed. It is after the changes of the write at Position whose moments are
// at most Moment. If Moment is 0, it is before all changes of that write.
type Cursor struct{ Position, Moment int64 }

// String returns the form of a cursor that clients send back.
// Shape: "1272.1265".
func (c Cursor) String() string {
	return strconv.FormatInt(c.Position, 10) + "." + strconv.FormatInt(c.Moment, 10)
}

// cursor reads the parameter after. The parameter is a cursor or the sequenceId of a change, which
// means the place after that change. 0 is the beginning.
// Errors: fault.Invalid.
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

// number reads digits only, without a sign or a leading zero. db.Forever and larger numbers
// are not a position or moment.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != text || n < 0 || n >= db.Forever {
		err = strconv.ErrSyntax
	}
	return n, err
}

// behind returns the place after the change with a moment. text is the parameter, for messages.
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
		case positioned: // Advance assigns no position to its write
			return Cursor{}, errAfter(text)
		}
		if _, err := s.log.Advance(ctx); err != nil {
			return Cursor{}, err
		}
	}
}

// orGone returns the error for a sequenceId without a change. The sequenceId is unknown, or
// its change is older than the horizon of history.
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
