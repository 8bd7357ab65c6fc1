package asset

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/asset/sequence"
)

// The types of definitions that administrators write.
const (
	anyDefinition    = "AttributeDefinition" // only in a create; specify replaces it by one of the next three
	simpleDefinition = "SimpleAttributeDefinition"
	toOneDefinition  = "OneToManyRelationDefinition"
	toManyDefinition = "ManyToManyRelationDefinition"
	listDefinition   = "AssetType"
)

// codeKey is the key under which the JSON of a definition's asset holds the code of the definition.
// No attribute has this name.
const codeKey = "Code"

// IsCreatable reports whether a create may name a type. It may name a concrete type, or the type
// AttributeDefinition, which is replaced by the concrete type that fits the values.
func IsCreatable(t *meta.Type) bool {
	return !t.Abstract || t.Metadata && t.Name == anyDefinition
}

// specify replaces the type AttributeDefinition of a create by the concrete type that fits
// the values.
func (s *Session) specify(c *Command) {
	if c.Verb != Create || c.Type == nil || !c.Type.Abstract || !IsCreatable(c.Type) {
		return
	}
	kind, name := c.text("AttributeType"), simpleDefinition
	switch {
	case kind != string(meta.Relation) && (kind != "" || !c.sets("RelatedAssetType")):
	case strings.EqualFold(c.text("IsMultivalue"), "true"):
		name = toManyDefinition
	default:
		name = toOneDefinition
	}
	if t, ok := s.e.model.Type(name); ok {
		c.Type = t
	}
}

// text returns the text to which a command sets an attribute, or an empty text.
func (c *Command) text(name string) string {
	for i := range c.Changes {
		if c.Changes[i].Name == name {
			v, _ := c.Changes[i].single()
			return v.Text
		}
	}
	return ""
}

// at returns the position of an attribute's value in the body, or fault.NoPlace.
func (c *Command) at(name string) int {
	for i := range c.Changes {
		if c.Changes[i].Name == name {
			return c.Changes[i].At
		}
	}
	return fault.NoPlace
}

// lockDefinitions locks the definitions of the model until the transaction ends, if a command
// writes a definition. Other writers of definitions wait, so the results of the checks stay true.
// lockDefinitions locks nothing for a caller who is not an administrator.
func (s *Session) lockDefinitions(ctx context.Context, commands []*Command) error {
	if s.definitionsLocked || !s.who.Admin || !slices.ContainsFunc(commands, func(c *Command) bool {
		t := s.typeOf(c)
		return t != nil && t.Metadata
	}) {
		return nil
	}
	if err := lockNamed(ctx, s.tx, "definitions"); err != nil {
		return err
	}
	s.definitionsLocked = true
	return nil
}

// definitions checks the definitions that administrators write. It returns an error for a
// definition that would make the model invalid.
//
// Spec: interface 2.1.4.
type definitions struct {
	unit
}

// complete sets the attributes of a new definition that follow from its type.
func (d *definitions) complete(w *row) {
	if !w.typ.Metadata {
		return
	}
	put := func(name string, v any) {
		if a, ok := w.typ.Attr(name); ok && w.get(a) == nil {
			w.set(a, v)
		}
	}
	put("IsCustom", true)
	switch w.typ.Name {
	case toManyDefinition:
		put("IsMultivalue", true)
		put("AttributeType", string(meta.Relation))
	case toOneDefinition:
		put("AttributeType", string(meta.Relation))
	}
}

// checkDefinitions returns an error for three kinds of changes. The first are changes of
// definitions of the built-in model, which have negative ids. The second are changes of
// definitions that the command does not name. The third are new assets of types that
// administrators may not create.
// Errors: fault.Denied.
func (g *gate) checkDefinitions(c *Command, target *row) error {
	for _, w := range g.changes.touched {
		switch {
		case !w.typ.Metadata:
		case w != target:
			if w.creating() || !w.cur.same(w.before) {
				return denied(w.typ, meta.ToChange, "")
			}
		case c.Verb == Create:
			if !slices.Contains([]string{simpleDefinition, toOneDefinition, toManyDefinition, listDefinition}, w.typ.Name) {
				return denied(w.typ, meta.ToCreate, "")
			}
		}
	}
	switch {
	case !target.typ.Metadata || target.id > 0:
		return nil
	case c.Verb == Operate:
		return denied(target.typ, meta.ToOperate, c.Op)
	}
	return denied(target.typ, meta.ToChange, "")
}

// check returns an error for a definition that the model cannot have, and sets the code of a new
// definition. The caller must check the rights of the member first.
// Errors: fault.Invalid, with the position of the wrong value.
func (d *definitions) check(ctx context.Context, c *Command, w *row) error {
	if !w.typ.Metadata || !w.creating() && (w.before == nil || w.cur.same(w.before)) {
		return nil
	}
	var err error
	switch {
	case c.Verb == Create && w.typ.Name == listDefinition:
		err = d.checkList(ctx, w)
	case c.Verb == Create:
		err = d.checkAttribute(ctx, w)
	case c.Verb == Update:
		err = d.checkUpdate(w)
	}
	if why, ok := errors.AsType[*meta.MisfitError](err); ok {
		return fault.Invalidf(c.at(why.Member), "Violation'Invalid'%s.%s: %s", w.typ.Name, why.Member, why.Reason)
	}
	if err == nil {
		d.s.ModelChanged()
	}
	return err
}

// checkList checks a new list of values, and sets the code of its type.
func (d *definitions) checkList(ctx context.Context, w *row) error {
	base, err := d.nameOf(ctx, w, "Base")
	if err != nil {
		return err
	}
	if base != "List" {
		return &meta.MisfitError{Member: "Base", Reason: "what is added is a list of values: its Base is List"}
	}
	there, err := catalog.Read(ctx, d.s.tx, d.s.e.model)
	if err != nil {
		return err
	}
	code, err := d.nextCode(ctx, "custom type")
	if err != nil {
		return err
	}
	list := meta.CustomList{ID: w.id, Name: d.textOf(w, "Name"), Code: int(code)}
	if err := d.s.e.model.CheckList(there, list); err != nil {
		return err
	}
	return d.giveCode(ctx, w, "custom type", code)
}

// checkAttribute checks a new attribute, and sets its code.
func (d *definitions) checkAttribute(ctx context.Context, w *row) error {
	a := meta.CustomAttribute{
		ID: w.id, Name: d.textOf(w, "Name"),
		Kind: meta.Kind(d.textOf(w, "AttributeType")), DateOnly: d.isTrue(w, "IsDateOnly"),
		Required: d.isTrue(w, "IsRequired"), Many: w.typ.Name == toManyDefinition,
		Back: d.textOf(w, "ReverseName"), Order: math.Inf(1),
	}
	relation := w.typ.Name != simpleDefinition
	switch {
	case relation != (a.Kind == meta.Relation):
		return &meta.MisfitError{Member: "AttributeType", Reason: "a " + w.typ.Name + " is no " + string(a.Kind)}
	case a.Many != d.isTrue(w, "IsMultivalue"):
		return &meta.MisfitError{
			Member: "IsMultivalue", Reason: "only a " + toManyDefinition + " has several values, and always",
		}
	}
	var err error
	if a.Type, err = d.nameOf(ctx, w, "Asset"); err != nil {
		return err
	}
	if a.To, err = d.nameOf(ctx, w, "RelatedAssetType"); err != nil {
		return err
	}
	there, err := catalog.Read(ctx, d.s.tx, d.s.e.model)
	if err != nil {
		return err
	}
	code := int64(d.s.e.model.FreeColumn(there, a.Type, a.Kind)) // for a scalar: the number of its column
	codes := ""
	if relation {
		codes = "custom relation"
		if code, err = d.nextCode(ctx, codes); err != nil {
			return err
		}
	}
	a.Code = int(code)
	if err := d.s.e.model.CheckAttribute(there, a); err != nil {
		return err
	}
	return d.giveCode(ctx, w, codes, code)
}

// nextCode returns the next code of a type or a relation. It does not reserve the code, because
// lockDefinitions makes other writers of definitions wait.
// Errors: *meta.MisfitError if the codes are used up.
func (d *definitions) nextCode(ctx context.Context, codes string) (int64, error) {
	var code int64
	err := d.s.tx.QueryRow(ctx, `SELECT value + 1 FROM sequence WHERE name = ?`, codes).Scan(&code)
	if err == nil && code > math.MaxInt16 {
		err = &meta.MisfitError{Member: "Name", Reason: "the codes are used up"}
	}
	return code, err
}

// giveCode stores the code of a new definition. This is the code of a type, the code of the links
// of a relation, or the number of the column of a scalar. If code is 0, the scalar has no column,
// because its values are in the JSON of the asset, and giveCode stores nothing. If codes is not
// empty, giveCode adds 1 to the sequence with that name.
func (d *definitions) giveCode(ctx context.Context, w *row, codes string, code int64) error {
	if codes != "" {
		if _, err := sequence.Advance(ctx, d.s.tx, codes, 1); err != nil {
			return err
		}
	}
	if code > 0 {
		w.cur.Attrs.Set(codeKey, code)
	}
	return nil
}

// changeable are the attributes of a definition that may be changed. The other attributes determine
// what the name of the definition means, and the meaning never changes.
var changeable = []string{"DisplayName", "Order", "IsRequired"}

// checkUpdate returns an error for a change of an attribute that is not in changeable. It also
// returns an error if a relation to many becomes required.
// Errors: *meta.MisfitError.
func (d *definitions) checkUpdate(w *row) error {
	was := &row{typ: w.typ, cur: w.before}
	for _, a := range w.typ.Attrs {
		if isStored(a) && w.get(a) != was.get(a) && !slices.Contains(changeable, a.Name) {
			return &meta.MisfitError{Member: a.Name, Reason: "a name keeps its meaning"}
		}
	}
	if d.isTrue(w, "IsRequired") && w.typ.Name == toManyDefinition {
		return &meta.MisfitError{Member: "IsRequired", Reason: "a relation to many is never required"}
	}
	return nil
}

// nameOf returns the name of the asset to which a relation of a definition refers, or an
// empty text.
func (d *definitions) nameOf(ctx context.Context, w *row, relation string) (string, error) {
	a, ok := w.typ.Attr(relation)
	if !ok {
		return "", nil
	}
	id, err := d.loaded.pointsTo(ctx, w, a)
	if err != nil || id == noID {
		return "", err
	}
	t, ok, err := d.loaded.find(ctx, id)
	if err != nil || !ok {
		return "", err
	}
	to, err := d.loaded.read(ctx, t)
	if err != nil {
		return "", err
	}
	return d.textOf(to, "Name"), nil
}

func (d *definitions) textOf(w *row, name string) string {
	if a, ok := w.typ.Attr(name); ok {
		text, _ := w.get(a).(string)
		return text
	}
	return ""
}

func (d *definitions) isTrue(w *row, name string) bool {
	a, ok := w.typ.Attr(name)
	return ok && w.get(a) == true
}
