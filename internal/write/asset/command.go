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
	Undo
)

// Command is a create, an update, an operation or an undo on one asset. Queries in its values have
// been replaced by their results, and each nested asset has a separate command.
type Command struct {
	Verb    Verb
	Type    *meta.Type // Create: the concrete type
	Self    *Handle    // Create: gets the identity of the new asset
	Context Ref        // Create: the asset that supplies defaults, such as the project; zero: none
	Target  Ref        // Update, Operate, Undo: the asset

	// TargetDeleted (Update) is true if the target was deleted when it was looked up. The target
	// is updated nevertheless.
	TargetDeleted bool
	// TargetLive (Update, Operate) is true if the target was not deleted when it was looked up.
	// If another request has deleted it since, the command is skipped.
	TargetLive bool
	// ByPath (Update) is true if the target was not looked up. The command fails with
	// fault.NotFound if the target does not exist, is deleted, or is not visible to the caller.
	ByPath bool

	IfMoment int64    // Update, Operate: the moment that the asset must have; 0: any; see oid.HasMoment
	Changes  []Change // Create, Update
	Within   *Command // Create: the enclosing update; the create also fails or is skipped if this update does

	// For (Create) is the later command that refers to the new asset. If the later command
	// fails, the asset is not created. Commands between the create and the later command
	// belong to the same group; see runGroups.
	For *Command

	Op       string    // Operate: name of the operation
	Args     []Change  // Operate: arguments of the operation; the value of each argument is in its Set
	Undone   *Undone   // Undo: what to take back
	Affected *Affected // limit on the number of changed assets; nil: no limit

	outcome Outcome  // outcome of this command, for the commands that depend on this command
	decided *Outcome // outcome of this command, if an earlier try has decided it; see runGroups
}

// Affected limits how many assets some commands of a session may change together. Assets that the
// commands do not name count too. An asset that is changed twice counts once.
type Affected struct {
	Most int // the limit

	written map[int64]bool // ids of the assets whose changes are written
}

// Listed returns the number of values in the lists of a command. If a client's command changes
// many assets, there is one Command per asset, and each repeats the lists.
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

// Change is the change of one attribute by a command. It has one of these forms: Set, or Add
// and Remove, or Find and Replace, or Neighbour, or Content.
type Change struct {
	Name    string
	Sealed  string    // for a secret: the hash of Set, as Engine.Seal returns it; empty: not computed yet
	Content *blob.Ref // for a Blob: reference of bytes that are already stored

	// Set has one value, or several values if the client sets a list. For a multi-value attribute
	// Set means Add, and an empty value changes nothing.
	Set []Value
	// Add and Remove are lists. For a multi-value attribute no value in them may be empty.
	Add, Remove []Value

	Find      *Value // the exact text to replace; for a multi-value attribute: one of its values
	Replace   Value
	Neighbour *Value // for a rank: the asset before which to rank, or after which to rank if After is true
	After     bool
	At        int   // byte offset of the value in the body
	Bad       error // not nil if the value is malformed; the command fails with this error; see ErrForm
	Internal  bool  // the service sets the value, not a client: the attribute may be read-only
}

// single returns the value of a change to a single-value attribute. {add: [x], remove: []} sets x,
// and {remove: [x]} clears the attribute. It returns false for more than one value.
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

// isNothing reports whether a change is one empty value that is not in a list. Such a change of a
// multi-value attribute changes nothing.
func (ch *Change) isNothing() bool { return len(ch.Set) == 1 && ch.Set[0].isEmpty() }

// each calls fn for every value of a change except Neighbour.
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

// The kinds of values.
const (
	Null ValueKind = iota
	Text
	Number
	Bool
)

// Value is one scalar as the client wrote it. For a relation it is a text: an Oid token, an
// @alias or a name.
type Value struct {
	Kind ValueKind
	Text string // the text, the literal of a number, or true or false
}

// isEmpty reports whether v is null or an empty text. Attributes of most kinds then have no
// value. Only a text attribute can have an empty text as its value.
func (v Value) isEmpty() bool {
	return v.Kind == Null || v.Kind == Text && v.Text == ""
}

// isAlias reports whether v is the alias of an asset that the request creates.
func (v Value) isAlias() bool { return v.Kind == Text && strings.HasPrefix(v.Text, "@") }

func isName(v Value) bool {
	return v.Kind == Text && v.Text != "" && v.Text != oid.Null && !v.isAlias() && !oid.IsToken(v.Text)
}

// Handle refers to an asset that a command of the request creates. It is pending until the
// command succeeds.
type Handle struct {
	Alias string        // alias with the @; for messages
	Name  func() string // returns an automatic alias if Alias is empty; may be nil
	Type  *meta.Type
	ID    int64 // stored id
	Made  bool  // true if the command has succeeded
}

// alias returns the alias for messages. An automatic alias is computed at the first call.
func (h *Handle) alias() string {
	if h.Alias == "" && h.Name != nil {
		h.Alias = h.Name()
	}
	return h.Alias
}

// OID returns the identity of the created asset. The handle must not be pending.
func (h *Handle) OID() oid.OID { return oid.OID{Type: h.Type.Name, ID: h.Type.Shown(h.ID)} }

// Ref refers to an existing asset, or to an asset that an earlier command creates.
type Ref struct {
	Handle *Handle // nil: OID refers to the asset
	OID    oid.OID
	Token  string // the reference as the client wrote it, for messages; may be empty if Handle or OID is set
}

// IsZero reports whether r refers to no asset.
func (r Ref) IsZero() bool { return r.Handle == nil && r.OID.IsNull() && r.Token == "" }

// token returns the text for r in messages.
func (r Ref) token() string {
	switch {
	case r.Token != "":
		return r.Token
	case r.Handle != nil:
		return r.Handle.alias()
	}
	return r.OID.String()
}

// Outcome is the result of one command.
type Outcome struct {
	OID     oid.OID // the asset that was created, updated or operated on
	Result  oid.OID // the asset for the answer, with its moment: the new asset of a Copy, else the asset of OID
	Skipped bool    // true if the command did nothing, because the target is deleted
	Err     error   // the fault with which the command failed; nil if it did not fail

	about *row   // the asset of Result
	as    *state // the state of about at the end of the command
}
