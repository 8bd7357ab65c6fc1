package asset

import (
	"errors"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Every text a failing command can answer with. They are wire contract.
// Spec: interface 7.2.

// ErrForm in Change.Bad says that the value has a form no attribute takes; the
// command then fails with the attribute's own message.
var ErrForm = fault.Invalidf(fault.NoPlace, "invalid form of a value")

// isCommands reports whether an error is a command's own failure, not the
// request's.
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

// NotFound is the error of a path whose asset is not there, or not for the caller.
func NotFound() error { return fault.NotFoundf("Not Found") }

// verbNames are the verbs of rights in messages; an operation has its own name.
var verbNames = map[meta.Verb]string{
	meta.ToCreate: "Create", meta.ToChange: "Change", meta.ToDelete: "Delete", meta.ToRelate: "Relate",
}

// denied answers a command that the caller's role does not allow. name is the
// attribute or operation that is the reason, empty for the asset as a whole.
func denied(t *meta.Type, verb meta.Verb, name string) error {
	if name == "" {
		name = verbNames[verb]
	}
	return fault.Deniedf("Denied'%s.%s", t.Name, name)
}

// MayNotChange answers who may not change an asset of a type.
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

// UnknownType is the interface's answer to an asset type that does not exist.
func UnknownType(name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown AssetType: %s", name)
}

// AbstractType answers a create of a type that has no instances of its own.
func AbstractType(name string) error {
	return fault.Invalidf(fault.NoPlace, "Abstract AssetType: %s", name)
}

// UnknownOp is the interface's answer to an operation the type does not have.
func UnknownOp(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown Operation '%s.%s'", typ, op)
}

func unknownArgument(typ, op, name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown Argument '%s.%s.%s'", typ, op, name)
}

func notNow(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid Operation '%s.%s'", typ, op)
}

func notAvailable(typ, op string) error {
	return fault.Invalidf(fault.NoPlace, "Unavailable Operation '%s.%s'", typ, op)
}

// Stale ends the whole request: somebody else was faster.
func Stale(o oid.OID) error {
	return fault.Conflictf(nil, "%s has changed since the moment of If-Match", o)
}

func badToken(r Ref) error { return oid.Invalid(r.token()) }

// rootRelated is the type that the first declaration of a relation points to.
// Overrides narrow it; messages name the wide one.
func rootRelated(a *meta.Attr) *meta.Type {
	related := a.Related
	for _, t := range a.On.Ancestors() {
		if up, ok := t.Attr(a.Name); ok && up.Related != nil {
			related = up.Related
		}
	}
	return related
}
