package meta

import (
	"slices"
	"strconv"
	"strings"
)

// lifecycle finds the protected assets, the sealed types, and the requirements of operations that
// create assets. It also checks the operations of partOf.
func (l *loader) lifecycle(*source) {
	for _, t := range l.m.Types {
		if attributes := l.files[t].Protected; attributes != nil {
			l.protect(t, *attributes)
		}
		if name := l.files[t].Sealed; name != "" {
			l.seal(t, name)
		}
		for _, name := range l.files[t].PartOf.Ops {
			owner := t.attrs[t.PartOf.Relation].Related
			if !slices.ContainsFunc(owner.Concrete, func(o *Type) bool { return o.ops[name] != nil }) {
				l.fail(at(l.files[t].line, "%s: %s has no operation %s", t.Name, owner.Name, name))
			}
		}
		for _, op := range t.Ops {
			l.needs(op)
		}
	}
}

func (l *loader) protect(t *Type, attributes []string) {
	t.Protected = &Protected{Attributes: attributes}
	for _, name := range attributes {
		if a := t.attrs[name]; a == nil || a.Kind == Relation || a.Place.Kind != InColumn && a.Place.Kind != InAttrs {
			l.fail(at(l.files[t].line, "%s: no plain attribute %s to protect", t.Name, name))
		}
	}
	var tokens []string
	for _, in := range l.m.Instances {
		if in.Type == t {
			t.Protected.IDs = append(t.Protected.IDs, t.Stored(in.ID))
			tokens = append(tokens, "'"+t.Name+":"+strconv.FormatInt(in.ID, 10)+"'")
		}
	}
	slices.Sort(t.Protected.IDs)
	if t.changeable() || len(tokens) == 0 {
		return
	}
	for name, also := range map[string]string{"IsReadOnly": "|ID=", "CanUpdate": ";ID!="} {
		if a := t.attrs[name]; a != nil {
			a.Place.Expr += also + strings.Join(tokens, ",")
		}
	}
}

// seal extends the filters IsReadOnly and CanUpdate of t. name is a reciprocal. An asset is
// read-only if other assets refer to it by the relation of this reciprocal. The filters also count
// deleted assets.
func (l *loader) seal(t *Type, name string) {
	a := t.attrs[name]
	if a == nil || a.Place.Kind != InLinksBack {
		l.fail(at(l.files[t].line, "%s: %s is not the reciprocal of a relation that is stored in links", t.Name, name))
		return
	}
	t.Sealed = a
	for name, also := range map[string]string{"IsReadOnly": "|" + name + ".@Count>'0'", "CanUpdate": ";" + name + ".@Count='0'"} {
		if a := t.attrs[name]; a != nil {
			a.Place.Expr += also
		}
	}
}

// changeable reports whether any attribute of a well-known asset of t may be written.
func (t *Type) changeable() bool {
	return slices.ContainsFunc(t.Attrs, func(a *Attr) bool {
		switch a.Place.Kind {
		case InColumn, InAttrs, InValues, InLinks, Secret:
			return !a.ReadOnly && !slices.Contains(t.Protected.Attributes, a.Name)
		}
		return false
	})
}

// needs finds relations of the asset on which the operation runs. The operation copies their
// values, because the asset that it creates requires them. Custom attributes are not included: only
// creates require them.
func (l *loader) needs(op *Op) {
	result := l.m.types[op.Effect.Result]
	if result == nil {
		return
	}
	for _, a := range result.Attrs {
		from := op.On.attrs[a.Name]
		if a.Required && !a.Custom && a.ToOne() && from != nil && from.ToOne() {
			op.Needs = append(op.Needs, from)
		}
	}
}

// Condition returns the filter of the assets for which the validator of the operation is true. The
// filter checks the state, the id and the related assets. It also uses assets that the caller must
// not see.
func (o *Op) Condition() string {
	var all []string
	in := o.Effect.From
	if o.Effect.Offered != nil {
		in = o.Effect.Offered
	}
	if len(in) == 0 {
		all = append(all, "AssetState!='255'")
	} else {
		var states []string
		for _, s := range in {
			states = append(states, "'"+strconv.Itoa(s)+"'")
		}
		all = append(all, "AssetState="+strings.Join(states, ","))
	}
	if ids := o.protected(); ids != nil && o.Retires() {
		all = append(all, "ID!="+strings.Join(ids, ","))
	}
	for _, a := range o.Needs {
		all = append(all, a.Name, a.Name+".AssetState!='255'")
		if _, scoped := a.Related.attrs["SecurityScope"]; scoped {
			all = append(all, a.Name+".SecurityScope.ParentMeAndUp[AssetState='255'].@Count='0'")
		}
	}
	if o.Effect.When != "" {
		all = append(all, "("+o.Effect.When+")")
	}
	return strings.Join(all, ";")
}

// protected returns the quoted Oid tokens of the protected assets of the operation's type.
func (o *Op) protected() []string {
	var tokens []string
	for _, t := range o.On.Concrete {
		if t.Protected == nil {
			continue
		}
		for _, id := range t.Protected.IDs {
			tokens = append(tokens, "'"+t.Name+":"+strconv.FormatInt(t.Shown(id), 10)+"'")
		}
	}
	return tokens
}
