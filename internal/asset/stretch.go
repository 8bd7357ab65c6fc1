package asset

import (
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// MaxBatch bounds how many commands are held in memory between two writes.
const MaxBatch = 5000

// batchLen returns how many of the commands can be run together: up to the
// first that needs to see in the database what one before it did.
func (s *Session) batchLen(commands []*Command) int {
	changed := map[*meta.Type]bool{}
	first := batchKey(s.typeOf(commands[0]), commands[0])
	for i, c := range commands {
		t := s.typeOf(c)
		if i == MaxBatch || i > 0 && (s.runsAlone(t, c) || batchKey(t, c) != first || namesChanged(t, c, changed)) {
			return i
		}
		if s.runsAlone(t, c) {
			return 1
		}
		changed[t] = true
	}
	return len(commands)
}

// batchKey names the operation of a command that runs in a stretch with its like
// only: what comes back has to see in the database how it was deleted, and all
// others have to see there which projects are.
func batchKey(t *meta.Type, c *Command) string {
	if t == nil || c.Verb != Operate {
		return ""
	}
	op, ok := t.Op(c.Op)
	if !ok || !op.Effect.Back && (!t.Secured.Self || !hidesScopes(op)) {
		return ""
	}
	if t.Secured.Self {
		return op.Name + " " + t.Name
	}
	return op.Name
}

// typeOf returns the type of a command's asset as far as it is known before
// the asset is loaded; nil when it is not.
func (s *Session) typeOf(c *Command) *meta.Type {
	if c.Type != nil {
		return c.Type
	}
	if c.Target.Handle != nil {
		return c.Target.Handle.Type
	}
	t, _ := s.e.model.Type(c.Target.OID.Type)
	return t
}

// runsAlone reports whether a command moves a project in the tree, or an asset in
// its rank space: what follows has to see the order it leaves. An operation
// that looks around has to see what stands before it.
func (s *Session) runsAlone(t *meta.Type, c *Command) bool {
	if t != nil && c.Verb == Operate {
		op, ok := t.Op(c.Op)
		return ok && (needsQueries[op.Effect.Code] || op.Effect.When != "")
	}
	for i := range c.Changes {
		if c.Changes[i].Neighbour != nil || s.e.layout.ranks[c.Changes[i].Name] {
			return true
		}
	}
	if t == nil || t.Name != "Scope" {
		return false
	}
	for _, ch := range c.Changes {
		if ch.Name == "Children" || ch.Name == "Parent" && c.Verb != Create {
			return true
		}
	}
	return false
}

// namesChanged reports whether a value is a name that one of the assets changed
// so far could have.
func namesChanged(t *meta.Type, c *Command, changed map[*meta.Type]bool) bool {
	if t == nil {
		return false
	}
	for i := range c.Changes {
		a, ok := t.Attr(c.Changes[i].Name)
		if !ok || a.Kind != meta.Relation {
			continue
		}
		found := false
		c.Changes[i].each(func(v Value) { found = found || isName(v) })
		if !found {
			continue
		}
		for other := range changed {
			if other == nil || a.Reaches(other) {
				return true
			}
		}
	}
	return false
}

func isName(v Value) bool {
	return v.Kind == Text && v.Text != "" && v.Text != oid.Null && !v.isAlias() && !oid.Looks(v.Text)
}

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
