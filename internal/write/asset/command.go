package asset

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/blob"
)

// Verb is the kind of a command.
type Verb uint8

// The verbs.
const (
	Create Verb = iota + 1
	Update
	Operate
)

// Command is one change to one asset, ready to be carried out: queries are
// answered and nesting is flattened before it gets here.
type Command struct {
	Verb          Verb
	Type          *meta.Type // Create: the concrete type
	Self          *Handle    // Create: set to the identity of the new asset
	Context       Ref        // Create: the asset whose scope and parents are the defaults; zero when there is none
	Target        Ref        // Update, Operate
	TargetDeleted bool       // Update: the target was found deleted, and is meant all the same
	TargetLive    bool       // Update, Operate: the target was found, and not deleted: where it is now, the command matches nothing
	ByPath        bool       // Update: nobody has looked whether the target is there; fault.NotFound where it is not, or not for the caller
	IfMoment      int64      // Update, Operate: refuse an asset that has another moment; 0: any; see oid.HasMoment
	Changes       []Change   // Create, Update
	Within        *Command   // Create: the update it was nested in, without which it is not carried out
	For           *Command   // Create: the later command that names what it makes; what comes between belongs to it, too. Without it nothing is made
	Op            string     // Operate: operation name
	Args          []Change   // Operate: arguments by name, in Set
	Affected      *Affected  // what it counts to; nil: nobody counts

	outcome Outcome  // what became of it, for those within
	decided *Outcome // its outcome, if a try before this one has told; see runGroups
}

// Affected bounds how many assets the commands of one session which share it change, those
// included that they do not name; one that is changed again counts once.
type Affected struct {
	Most int

	written map[int64]bool // ids of those whose changes are written
}

// Listed is how many values of lists a command names. One on many assets names those again
// for each.
func (c *Command) Listed() (n int) {
	for i := range c.Changes {
		ch := &c.Changes[i]
		n += len(ch.Add) + len(ch.Remove)
		if len(ch.Set) > 1 {
			n += len(ch.Set)
		}
	}
	return n
}

// sets reports whether a command changes an attribute.
func (c *Command) sets(name string) bool {
	return slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Name == name })
}

// Change is what a command sets of one attribute. Exactly one of the forms is
// used: Set, or Add and Remove, or Find and Replace, or Neighbour.
type Change struct {
	Name      string
	Sealed    string    // of a secret: the hash of Set; empty: not made yet
	Content   *blob.Ref // of a Blob: a content that is stored already, in the place of Set
	Set       []Value   // one value; for a multi-value attribute it means Add, and an empty one changes nothing
	Add       []Value   // of a list; no value in it may be empty, nor in Remove, where the attribute takes several
	Remove    []Value
	Find      *Value // with Replace: exact text, or one of several values
	Replace   Value
	Neighbour *Value // a rank: just before this asset, or with After just after it
	After     bool
	At        int   // byte offset of the value in the body
	Bad       error // the value has a form that no attribute takes; it fails the command when its turn comes
}

// single returns the value of a change to an attribute that holds one: {add: [x],
// remove: []} sets it, {remove: [x]} clears it.
func (ch *Change) single() (Value, bool) {
	switch {
	case len(ch.Set) == 1:
		return ch.Set[0], true
	case len(ch.Set) > 1 || len(ch.Add) > 1:
		return Value{}, false
	case len(ch.Add) == 1:
		return ch.Add[0], true
	}
	return Value{}, len(ch.Remove) > 0
}

// isNothing reports whether a change to an attribute with several values is one
// empty value and no list, which changes nothing.
func (ch *Change) isNothing() bool { return len(ch.Set) == 1 && ch.Set[0].isEmpty() }

// each calls fn for every value of a change.
func (ch *Change) each(fn func(Value)) {
	for _, v := range ch.Set {
		fn(v)
	}
	for _, v := range ch.Add {
		fn(v)
	}
	for _, v := range ch.Remove {
		fn(v)
	}
	if ch.Find != nil {
		fn(*ch.Find)
		fn(ch.Replace)
	}
}

// ValueKind is the kind of a Value.
type ValueKind uint8

// The kinds of values. Null is the zero Kind.
const (
	Null ValueKind = iota
	Text
	Number
	Bool
)

// Value is one scalar as the client wrote it. A relation takes text: an Oid
// token, an @alias or a name.
type Value struct {
	Kind ValueKind
	Text string // the text, the number's literal, or true or false
}

// isEmpty reports whether v means no value, for everything but text.
func (v Value) isEmpty() bool {
	return v.Kind == Null || v.Kind == Text && v.Text == ""
}

// isAlias reports whether v names an asset made in the same request.
func (v Value) isAlias() bool { return v.Kind == Text && strings.HasPrefix(v.Text, "@") }

func isName(v Value) bool {
	return v.Kind == Text && v.Text != "" && v.Text != oid.Null && !v.isAlias() && !oid.IsToken(v.Text)
}

// Handle stands for an asset that a command of the request makes. It is
// pending until the command has been carried out, and stays so if that fails.
type Handle struct {
	Alias string // with its @; what failures of dependants name
	Name  func() string
	Type  *meta.Type
	ID    int64 // stored id
	Made  bool
}

// alias returns the name that messages use, made on demand for automatic ones.
func (h *Handle) alias() string {
	if h.Alias == "" && h.Name != nil {
		h.Alias = h.Name()
	}
	return h.Alias
}

// OID returns the identity of the asset made.
func (h *Handle) OID() oid.OID { return oid.OID{Type: h.Type.Name, ID: h.Type.Shown(h.ID)} }

// Ref addresses an existing asset, or one made by an earlier command.
type Ref struct {
	Handle *Handle
	OID    oid.OID
	Token  string // as written, for messages; may be empty with a Handle or OID
}

// IsZero reports whether r addresses nothing.
func (r Ref) IsZero() bool { return r.Handle == nil && r.OID.IsNull() && r.Token == "" }

// token returns what a message calls r.
func (r Ref) token() string {
	switch {
	case r.Token != "":
		return r.Token
	case r.Handle != nil:
		return r.Handle.alias()
	}
	return r.OID.String()
}

// Outcome is what became of one command.
type Outcome struct {
	OID     oid.OID // the asset created, updated or operated on
	Result  oid.OID // the asset the command answers with, with its moment: the new one of a Copy, else that of OID
	Skipped bool    // the target is deleted, so the command matched nothing
	Err     error   // why the command failed, a fault; nil otherwise

	about *row   // what Result is made from
	as    *state // about, as the command left it
}
