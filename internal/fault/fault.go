package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Kind classifies a failure by who can fix it. The zero Kind is Internal, so
// an error nobody classified is never shown to a caller as theirs.
type Kind uint8

// The kinds, with the status httpapi gives each.
const (
	Internal  Kind = iota // 500: our defect; the caller sees only "internal error"
	Invalid               // 400: the request contains something that alds does not accept
	Unproven              // 401: no valid credentials came with the request
	Denied                // 403: the caller is known and not allowed
	NotFound              // 404: the addressed asset or path does not exist, or is not visible
	Conflict              // 409: the request raced with another change
	Transient             // 503: the same call may succeed later, unchanged
)

var kindNames = [...]string{"internal", "invalid", "unproven", "denied", "not found", "conflict", "transient"}

// String returns the kind's name, used in logs and metric labels.
func (k Kind) String() string { return kindNames[k] }

// NoPlace is the At of an error that points at no byte of the input.
const NoPlace = -1

// Error is a failure with a message meant for the caller.
//
// Clients depend on Msg of every Kind except Internal: tests hold it.
// Err is the cause, for logs and errors.Is; callers never see it.
type Error struct {
	Kind Kind
	Msg  string
	At   int // byte offset in the caller's input; NoPlace when none applies
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

// Invalidf reports bad input at byte offset at, or NoPlace. Like every
// constructor here it returns error, not *Error, so that a nil result can
// never become a non-nil interface.
func Invalidf(at int, format string, args ...any) error {
	return &Error{Kind: Invalid, Msg: message(format, args), At: at}
}

// Unprovenf reports that no valid credentials came with the request.
func Unprovenf(format string, args ...any) error {
	return &Error{Kind: Unproven, Msg: message(format, args), At: NoPlace}
}

// Deniedf reports that the caller is known and may not do this.
func Deniedf(format string, args ...any) error {
	return &Error{Kind: Denied, Msg: message(format, args), At: NoPlace}
}

// NotFoundf reports that what is addressed does not exist or is not visible.
func NotFoundf(format string, args ...any) error {
	return &Error{Kind: NotFound, Msg: message(format, args), At: NoPlace}
}

// Conflictf reports that the request raced with another change; cause may be nil.
func Conflictf(cause error, format string, args ...any) error {
	return &Error{Kind: Conflict, Msg: message(format, args), At: NoPlace, Err: cause}
}

// Transientf reports that the same call may succeed later; cause may be nil.
func Transientf(cause error, format string, args ...any) error {
	return &Error{Kind: Transient, Msg: message(format, args), At: NoPlace, Err: cause}
}

// maxShown bounds in bytes what a message repeats of a text: a request may be large, and
// its failure may not be larger.
const maxShown = 1000

// Shown returns a text of the caller as a message repeats it: the beginning of a long one.
func Shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

// message formats args, texts among them shortened.
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

// Public returns what a caller may read of err: the message of the outermost
// *Error, and "internal error" for anything else.
func Public(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind != Internal {
		return e.Msg
	}
	return "internal error"
}

// Placed returns err with a byte offset in the caller's input; other errors than
// *Error are unchanged.
func Placed(err error, at int) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Kind: e.Kind, Msg: e.Msg, At: at, Err: e.Err}
	}
	return err
}

// Place returns the byte offset err points at, or NoPlace.
func Place(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.At
	}
	return NoPlace
}
