package query

import (
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
)

// The messages of this package. Messages that the interface defines must not change.
// Spec: interface 7.2.

func unknownType(at int, name string) error {
	return fault.Invalidf(at, "Unknown AssetType: %s", name)
}

func unknownAttr(at int, typ, name string) error {
	return fault.Invalidf(at, "Unknown AttributeDefinition: %s.%s", typ, name)
}

// UnknownAttribute returns the interface's error for an attribute that a type does not have.
func UnknownAttribute(typ, name string) error { return unknownAttr(fault.NoPlace, typ, name) }

func invalidOID(at int, text string) error {
	return fault.Invalidf(at, "Invalid OID token: %s", text)
}

func invalidKey(at int, path, key string) error {
	return fault.Invalidf(at, "Invalid key at node(s): %s->%s", path, key)
}

func notScalar(at int, key string) error {
	return fault.Invalidf(at, "Key %q must have corresponding scalar value\r\nParameter name: %s", key, key)
}

func badToken(at int, token, why string) error {
	return fault.Invalidf(at, "Invalid attribute token %s: %s", token, why)
}

func badForm(at int, key, want string) error {
	return fault.Invalidf(at, "%s must be %s", key, want)
}

func badPage(at int, text string) error {
	return fault.Invalidf(at, "Invalid page: %s", text)
}

func movesWithTheClock(at int) error {
	return badPage(at, "the values of sort change with the time of day, so no page comes after another; sort by ChangeDate in place of Days")
}

func definedByItself(attr string) error {
	return fault.Invalidf(fault.NoPlace, "%s is defined by itself", attr)
}

func outermostOnly(at int) error {
	return fault.Invalidf(at, "page and asof apply to the outermost query only")
}

func bothStarts(at int) error {
	return fault.Invalidf(at, "page: start and after exclude each other")
}

func versionsOfOne(at int) error {
	return fault.Invalidf(at, "asof=All needs a type; for the versions of one asset, use rest-1.v1/Hist")
}

func noDate(t Text) error { return fault.Invalidf(t.At, "asof is no date: %s", t.Text) }

func notBuilt(what string) error {
	return fault.Invalidf(fault.NoPlace, "%s is not supported", what)
}

func tooMany(at int, what string, limit int) error {
	return &fault.Error{Kind: fault.Invalid, Msg: fmt.Sprintf("too many %s: the limit is %d", what, limit), At: at, Err: errLimit}
}

// errLimit marks errors about limits. badTerm does not replace their messages.
var errLimit = errors.New("limit")

// errAlias marks the error about an alias without an asset. badTerm does not replace its message.
var errAlias = errors.New("alias")

func unresolved(at int, alias string) error {
	return &fault.Error{Kind: fault.Invalid, Msg: "Invalid OID token: " + fault.Shown(alias), At: at, Err: errAlias}
}

func isLimit(e *fault.Error) bool { return errors.Is(e, errLimit) }

// inParam adds the name of a URL parameter before the message of an error of the kind
// fault.Invalid.
func inParam(param string, err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Invalid {
		return &fault.Error{Kind: e.Kind, Msg: "Invalid " + param + " parameter: " + e.Msg, At: e.At, Err: e.Err}
	}
	return err
}

// shift changes the place of an error. The old place is the offset in a text, the parameter in. The
// new place is the offset in the whole input.
func shift(err error, in Text) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	at := fault.NoPlace
	if in.At >= 0 && e.At >= 0 {
		at = in.At + in.Written.Offset(e.At)
	}
	return &fault.Error{Kind: e.Kind, Msg: e.Msg, At: at, Err: e.Err}
}
