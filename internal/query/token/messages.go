package token

import (
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
)

// BadFilterPrefix is the beginning of every message about a filter.
const BadFilterPrefix = "Invalid QueryFilter2 token "

// BadFilter returns the interface's error for an invalid filter or term. The message does not
// contain the cause, which is only logged.
// Spec: interface 7.2.
func BadFilter(text string, at int, cause error) error {
	return &fault.Error{Kind: fault.Invalid, Msg: BadFilterPrefix + fault.Shown(text), At: at, Err: cause}
}

func badFilter(src string, at int, want string) error {
	return BadFilter(src, at, fmt.Errorf("expected %s at %d", want, at))
}

func badPath(src string, at int, want string) error {
	return fault.Invalidf(at, "Invalid attribute token %s: expected %s", src, want)
}

func tooMany(at int, what string, limit int) error {
	return fault.Invalidf(at, "too many %s: the limit is %d", what, limit)
}
