package asset

import (
	"errors"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// The messages of failing commands. They are part of the interface and do not change. A few
// messages that only one other file uses are in that file.
// Spec: interface 7.2.

// ErrForm in Change.Bad marks a value whose form no attribute accepts. The command then fails
// with the message for an invalid value of the attribute.
var ErrForm = fault.Invalidf(fault.NoPlace, "invalid form of a value")

// isCommands reports whether an error makes only one command fail. Other errors end the request.
func isCommands(err error) bool {
	if errors.Is(err, ErrReach) {
		return false
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Denied, fault.NotFound:
		return true
	}
	return false
}

// NotFound returns the error for a path whose asset does not exist or is not visible to the
// caller.
func NotFound() error { return fault.NotFoundf("Not Found") }

// verbNames are the names of verbs in messages. meta.ToOperate has no name, because messages name
// the operation instead.
var verbNames = map[meta.Verb]string{
	meta.ToCreate: "Create", meta.ToChange: "Change", meta.ToDelete: "Delete", meta.ToRelate: "Relate",
}

// denied returns the error for a command that the caller's role does not allow. name is the
// attribute or operation that is denied; empty means the asset as a whole.
func denied(t *meta.Type, verb meta.Verb, name string) error {
	if name == "" {
		name = verbNames[verb]
	}
	return fault.Deniedf("Denied'%s.%s", t.Name, name)
}

// MayNotChange returns the error for a caller who may not change assets of a type.
func MayNotChange(typ string) error { return denied(&meta.Type{Name: typ}, meta.ToChange, "") }

func required(a *meta.Attr) error {
	return fault.Invalidf(fault.NoPlace, "Violation'Required'%s", a.Token())
}

func invalid(a *meta.Attr) error {
	return fault.Invalidf(fault.NoPlace, "Violation'Invalid'%s", a.Token())
}

func readOnly(a *meta.Attr) error {
	return fault.Invalidf(fault.NoPlace, "Violation'ReadOnly'%s", a.Token())
}

func tooLong(a *meta.Attr) error {
	return fault.Invalidf(fault.NoPlace, "Violation'TooLong'%s", a.Token())
}

func notUnique(typ, name string) error {
	return fault.Invalidf(fault.NoPlace, "Violation'NotUnique'%s.%s", typ, name)
}

func unresolved(a *meta.Attr) error {
	return fault.Invalidf(fault.NoPlace, "Resolution'Unresolved'%s'%s", a.Token(), rootRelated(a).Name)
}

func unknownAttr(t *meta.Type, name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown AttributeDefinition: %s.%s", t.Name, name)
}

// UnknownType returns the error for the name of an asset type that does not exist.
func UnknownType(name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown AssetType: %s", name)
}

// AbstractType returns the error for the creation of an asset of an abstract type.
func AbstractType(name string) error {
	return fault.Invalidf(fault.NoPlace, "Abstract AssetType: %s", name)
}

// UnknownOp returns the error for an operation that the type does not have.
func UnknownOp(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown Operation '%s.%s'", typ, op)
}

func unknownArgument(typ, op, name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown Argument '%s.%s.%s'", typ, op, name)
}

// notNow returns the error for an operation that may not run on the asset in its current state.
func notNow(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid Operation '%s.%s'", typ, op)
}

// notAvailable returns the error for an operation whose Effect.Code has no function in opCodes.
func notAvailable(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Unavailable Operation '%s.%s'", typ, op)
}

// Stale returns the error for an asset that has changed since the moment of If-Match. It ends
// the whole request.
func Stale(o oid.OID) error {
	return fault.Conflictf(nil, "%s has changed since the moment of If-Match", o)
}

func badToken(r Ref) error { return oid.Invalid(r.token()) }

// rootRelated returns the related type in the first declaration of a relation. Overrides on
// subtypes may narrow that type, but messages name the type of the first declaration.
func rootRelated(a *meta.Attr) *meta.Type {
	related := a.Related
	for _, t := range a.On.Ancestors() {
		if up, ok := t.Attr(a.Name); ok && up.Related != nil {
			related = up.Related
		}
	}
	return related
}
