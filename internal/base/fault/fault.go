package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind classifies a failure by who can fix it. The zero Kind is Internal, so an unclassified
// error is never shown to a caller.
type Kind uint8

// The kinds, with their HTTP status.
const (
	Internal  Kind = iota // 500: a defect of alds; the caller sees only "internal error"
	Invalid               // 400: the request contains something that alds does not accept
	Unproven              // 401: the request has no valid credentials
	Denied                // 403: the caller is known, but not allowed
	NotFound              // 404: the asset or path does not exist, or is not visible
	Conflict              // 409: another request changed the same data at the same time
	Transient             // 503: the same call may succeed later, unchanged
)

var kindNames = [...]string{"internal", "invalid", "unproven", "denied", "not found", "conflict", "transient"}

// String returns the name of the kind, for logs and metric labels.
func (k Kind) String() string { return kindNames[k] }

// NoPlace is the At of an error without a position in the input.
const NoPlace = -1

// Error is a failure with a message for the caller.
//
// Clients depend on the Msg of every Kind except Internal, so tests compare it with the expected
// text. Err is the cause, for logs and errors.Is; callers never see it.
type Error struct {
	Kind Kind
	Msg  string
	At   int // byte offset in the caller's input, or NoPlace
	Err  error
}

// Error returns the message followed by the cause, for logs.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalidf returns an error for invalid input. at is the byte offset of the mistake, or NoPlace. Every
// constructor here returns error, not *Error, so that a nil result never becomes a non-nil interface.
func Invalidf(at int, format string, args ...any) error {
	return &Error{Kind: Invalid, Msg: message(format, args), At: at}
}

// Unprovenf returns an error for a request without valid credentials.
func Unprovenf(format string, args ...any) error {
	return &Error{Kind: Unproven, Msg: message(format, args), At: NoPlace}
}

// Deniedf returns an error for a caller who is known, but not allowed.
func Deniedf(format string, args ...any) error {
	return &Error{Kind: Denied, Msg: message(format, args), At: NoPlace}
}

// NotFoundf returns an error for something that does not exist or is not visible.
func NotFoundf(format string, args ...any) error {
	return &Error{Kind: NotFound, Msg: message(format, args), At: NoPlace}
}

// Conflictf returns an error for a request whose data another request changed at the same time.
// cause may be nil.
func Conflictf(cause error, format string, args ...any) error {
	return &Error{Kind: Conflict, Msg: message(format, args), At: NoPlace, Err: cause}
}

// Transientf returns an error for a call that may succeed later; cause may be nil.
func Transientf(cause error, format string, args ...any) error {
	return &Error{Kind: Transient, Msg: message(format, args), At: NoPlace, Err: cause}
}

// maxShown is the maximum number of bytes of a text that a message repeats. A request may be large,
// but its error message must be short.
const maxShown = 1000

// Shown returns a text that came from the caller, in the form for a message: a long text is cut.
func Shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// message formats args. Long texts among them are cut.
func message(format string, args []any) string {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = Shown(a)
		case error:
			args[i] = Shown(a.Error())
		case fmt.Stringer:
			args[i] = Shown(a.String())
		}
	}
	return fmt.Sprintf(format, args...)
}

// KindOf returns the Kind of the outermost *Error in err's chain, or Internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// Public returns the text of err for a caller: the message of the outermost *Error, or
// "internal error" for anything else.
func Public(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind != Internal {
		return e.Msg
	}
	return "internal error"
}

// Placed returns err with a byte offset in the caller's input. An error that is not an *Error
// is unchanged.
func Placed(err error, at int) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Kind: e.Kind, Msg: e.Msg, At: at, Err: e.Err}
	}
	return err
}

// Place returns the byte offset of err, or NoPlace.
func Place(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.At
	}
	return NoPlace
}
