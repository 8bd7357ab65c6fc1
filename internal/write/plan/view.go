package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// line is one change of a stored effect; see appendEffect.
type line struct {
	Asset          string
	Attribute      string
	Created        bool
	Old, New, Next json.RawMessage
	Added, Removed []string
	Refused        int
}

// parsed is how much memory the parsed form of an effect takes, as a multiple of its stored form.
const parsed = 6

// viewer reads a stored effect as one member may see it. The member sees the changes of the assets that the
// member sees now. The member sees a new asset if the member would see it after applying the effect.
type viewer struct {
	model *meta.Model
	who   auth.Actor
	seen  map[string]bool            // by Oid, and by name for the new assets that were asked for
	made  map[string]map[string]line // the lines of each new asset, by attribute
	self  string                     // Oid of the member
}

// asSeen returns a stored effect as an actor may see it. What the model does not have any more is hidden.
// Errors: those of newEffect.
func (e *Engine) asSeen(ctx context.Context, q db.Querier, who auth.Actor, stored []byte) (effect, error) {
	if err := memory.From(ctx).Take(parsed * int64(len(stored))); err != nil {
		return effect{}, err
	}
	var lines []line
	var texts [][]byte
	refused := 0
	for text := range bytes.SplitSeq(stored, []byte{'\n'}) {
		if len(text) == 0 {
			continue
		}
		var l line
		text = unmarked(text)
		if err := json.Unmarshal(text, &l); err != nil {
			return effect{}, fmt.Errorf("a line of a stored effect: %w", err)
		}
		if l.Refused > 0 {
			refused = l.Refused
			continue
		}
		lines, texts = append(lines, l), append(texts, text)
	}
	self := ""
	if t, ok := e.assets.Model().Type("Member"); ok {
		self = oid.OID{Type: t.Name, ID: t.Shown(who.Member)}.String()
	}
	v := &viewer{self: self, model: e.assets.Model(), who: who, made: map[string]map[string]line{}}
	if err := v.lookUp(ctx, q, e.assets, lines); err != nil {
		return effect{}, err
	}
	var all []asset.Effect
	var unknown [][]byte
	for i := range lines {
		if found, ok := v.effect(&lines[i]); ok {
			all = append(all, found)
		} else {
			unknown = append(unknown, append([]byte{hiddenMark}, texts[i]...))
		}
	}
	f, err := newEffect(ctx, all, e.MaxShown)
	f.all = append(f.all, unknown...)
	f.size.Hidden += len(unknown)
	f.size.Refused = refused
	return f, err
}

// lookUp finds out which of the assets in some lines the actor sees.
func (v *viewer) lookUp(ctx context.Context, q db.Querier, assets *asset.Engine, lines []line) error {
	var oids []oid.OID
	known := map[string]bool{}
	add := func(token string) {
		if o, err := oid.Parse(token); err == nil && !o.IsNull() && !known[token] {
			known[token] = true
			oids = append(oids, o)
		}
	}
	for i := range lines {
		l := &lines[i]
		add(l.Asset)
		if isNew(l.Asset) {
			if v.made[l.Asset] == nil {
				v.made[l.Asset] = map[string]line{}
			}
			v.made[l.Asset][l.Attribute] = *l
		}
		for _, token := range v.references(l) {
			add(token)
		}
	}
	found, err := assets.Lookup(ctx, q, v.who, oids)
	v.seen = make(map[string]bool, len(found))
	for o, k := range found {
		v.seen[o.String()] = !k.Deleted || k.Gone
	}
	return err
}

// isNew reports whether a token is the name of an asset that the request creates, such as Story:+1.
func isNew(token string) bool { return strings.Contains(token, ":+") }

// typeOf returns the type of an asset by its Oid or name.
func (v *viewer) typeOf(token string) (*meta.Type, bool) {
	name, _, _ := strings.Cut(token, ":")
	return v.model.Type(name)
}

// attr returns the attribute of a line. It returns nil for roles and for a new asset.
func (v *viewer) attr(l *line) (a *meta.Attr, ok bool) {
	t, ok := v.typeOf(l.Asset)
	if !ok {
		return nil, false
	}
	if l.Created || t.Secured.Self && l.Attribute == roles {
		return nil, true
	}
	return t.Attr(l.Attribute)
}

// roles is the name under which an effect has the roles of members in a project.
const roles = "Roles"

// references returns the assets that a line names as values.
func (v *viewer) references(l *line) []string {
	a, ok := v.attr(l)
	switch {
	case !ok || l.Created:
		return nil
	case a == nil:
		var members []string
		for _, text := range slices.Concat(l.Added, l.Removed) {
			member, _, _ := strings.Cut(text, " ")
			members = append(members, member)
		}
		return members
	case a.Kind != meta.Relation && a.Kind != meta.Rank:
		return nil
	case a.Multi:
		return slices.Concat(l.Added, l.Removed)
	}
	var all []string
	for _, raw := range []json.RawMessage{l.Old, l.New, l.Next} {
		if token := unquoted(raw); token != "" {
			all = append(all, token)
		}
	}
	return all
}

// unquoted returns the text of a JSON string, and nothing for other JSON.
func unquoted(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// sees reports whether the actor sees an asset, which may be a new one.
func (v *viewer) sees(token string) bool {
	seen, known := v.seen[token]
	if known || !isNew(token) {
		return seen || token == asset.Caller
	}
	v.seen[token] = false // ends a circle
	v.seen[token] = v.seesNew(token)
	return v.seen[token]
}

// seesNew reports whether the actor would see a new asset, if the actor created it.
func (v *viewer) seesNew(token string) bool {
	t, ok := v.typeOf(token)
	if v.who.All || !ok || !v.who.Bounds.Reads(t) {
		return v.who.All
	}
	in := t.Secured.Via
	switch {
	case !t.Seen.IsZero():
		return v.seesThrough(token, &t.Seen)
	case t.Secured.Self:
		in = "Parent"
	case in == "":
		return true // assets of the type belong to no project
	}
	return v.sees(unquoted(v.made[token][in].New))
}

// seesThrough does the same as seesNew for an asset whose type has a rule.
func (v *viewer) seesThrough(token string, rule *meta.Seen) bool {
	if rule.Shared {
		return v.who.AllMembers()
	}
	values := func(w meta.Walk) []string {
		l, ok := v.made[token][w[0].Name]
		if !ok {
			return nil
		}
		return v.references(&l)
	}
	only, mine := false, false
	for _, w := range rule.Only {
		for _, to := range values(w) {
			only = true
			mine = mine || to == asset.Caller || to == v.self || len(w) > 1 && isNew(to) && v.sees(to)
		}
	}
	if only {
		return mine
	}
	for _, w := range rule.Through {
		if to := values(w); len(to) > 0 {
			return len(w) > 1 || slices.ContainsFunc(to, v.sees)
		}
	}
	return true
}

// effect returns a line as an effect. It returns false if the model does not know the type or the attribute.
func (v *viewer) effect(l *line) (e asset.Effect, ok bool) {
	t, _ := v.typeOf(l.Asset)
	a, ok := v.attr(l)
	if !ok {
		return e, false
	}
	e = asset.Effect{Asset: l.Asset, Kind: asset.Changes, Type: t, Attr: a, Added: l.Added, Removed: l.Removed, Hidden: !v.sees(l.Asset)}
	hidden := func(raw json.RawMessage) bool { token := unquoted(raw); return token != "" && !v.sees(token) }
	switch {
	case l.Created:
		e.Kind = asset.Creates
	case a == nil:
		e.Kind = asset.Roles
		for _, member := range v.references(l) {
			e.Hidden = e.Hidden || !v.sees(member)
		}
	case l.Next != nil:
		e.Kind, e.New, e.HiddenNew = asset.Moves, valueOf(a, l.Next), hidden(l.Next)
	case a.Multi && a.Kind == meta.Relation:
		for _, token := range v.references(l) {
			if !v.sees(token) {
				e.HiddenValues = append(e.HiddenValues, token)
			}
		}
	case a.Multi:
	default:
		e.Old, e.New = valueOf(a, l.Old), valueOf(a, l.New)
		if a.Kind == meta.Relation {
			e.HiddenOld, e.HiddenNew = hidden(l.Old), hidden(l.New)
		}
	}
	return e, true
}

// raw is a value of an effect as JSON.
type raw string

// valueOf returns a value of a line: nil, the Oid of an asset, or its JSON.
func valueOf(a *meta.Attr, b json.RawMessage) any {
	switch {
	case len(b) == 0 || string(b) == "null":
		return nil
	case a.Kind == meta.Relation || a.Kind == meta.Rank:
		return unquoted(b)
	}
	return raw(b)
}
