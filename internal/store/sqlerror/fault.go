package sqlerror

import (
	"errors"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Fault converts an error of a driver or of gorm to a fault with a kind. A duplicate key is
// Conflict, no rows is NotFound. A transaction that is too large and a query that is too complex
// are Invalid. A deadlock, a lost connection, a full disk and an ended context are Transient. Any
// other error is returned unchanged, and also an error that already has a kind. The methods of
// db.Tx and db.DB call Fault. Other callers need it only for errors of *sql.Rows.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	switch ClassOf(err) {
	case NoRows:
		return &fault.Error{Kind: fault.NotFound, Msg: "not found", At: fault.NoPlace, Err: err}
	case Duplicate:
		return fault.Conflictf(err, "the value is already in use")
	case Retryable:
		return fault.Transientf(err, "the request raced with others; try again")
	case Lost, Away, Unavailable, Unanswered, Undecided:
		return fault.Transientf(err, "the database is not available; try again")
	case Full:
		return fault.Transientf(err, "the database has no room left; try again later")
	case Ended:
		return fault.Transientf(err, "the request took too long or was given up")
	case TooLarge:
		return &fault.Error{Kind: fault.Invalid, Msg: "the request changes more than the database takes in one transaction", At: fault.NoPlace, Err: err}
	case TooComplex:
		return &fault.Error{Kind: fault.Invalid, Msg: "the query is too complex for the database; ask for less at once", At: fault.NoPlace, Err: err}
	}
	return err
}
