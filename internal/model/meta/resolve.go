package meta

import "slices"

// operationsOf adds the operations that t lists, and declares a validator for each unless a
// type above has it.
func (l *loader) operationsOf(t *Type) {
	for _, name := range l.files[t].Ops {
		op, ok := l.ops[t.Name+"."+name]
		if !ok {
			op, ok = l.ops[name]
		}
		if !ok {
			l.fail(at(l.files[t].line, "%s: no operation %s", t.Name, name))
			continue
		}
		validator := "Check" + name
		if op.Validator != nil {
			validator = *op.Validator
		}
		if validator == "none" {
			validator = ""
		}
		to := -1
		if op.To != nil {
			to = *op.To
		}
		t.Ops = append(t.Ops, &Op{Name: name, On: t, Declared: t, Validator: validator, Effect: Effect{
			From: op.From, Offered: op.Offered, To: to, Back: op.Back, When: op.When, Set: op.Set, Code: op.Code, Result: op.Result, Args: op.Args,
		}})
		if validator != "" && !l.declares(t, validator) {
			l.own[t] = append(l.own[t], &decl{attr: Attr{
				Name: validator, Declared: t, Kind: Boolean, ReadOnly: true, Canned: true,
				Place: Place{Kind: Validator, Expr: name},
			}})
		}
	}
}

// declares reports whether t or a type above it declares the attribute.
func (l *loader) declares(t *Type, name string) bool {
	for ; t != nil; t = t.Parent {
		for _, d := range l.own[t] {
			if d.attr.Name == name {
				return true
			}
		}
	}
	return false
}

// inherit gives every type its own and all inherited attributes and operations, under its own
// token.
func (l *loader) inherit(*source) {
	for _, t := range l.m.Types {
		if t.Parent != nil {
			for _, a := range t.Parent.Attrs {
				if d := l.from[a]; d.concerns(t) {
					l.add(t, *a, d)
				}
			}
			t.Hierarchies = append(t.Hierarchies, t.Parent.Hierarchies...)
		}
		for _, d := range l.own[t] {
			switch old := t.attrs[d.attr.Name]; {
			case d.override != nil && old == nil:
				l.fail(at(d.line, "%s: nothing to override", d.attr.Declared.Name+"."+d.attr.Name))
			case d.override != nil:
				change(old, d)
			case old != nil:
				l.fail(at(d.line, "%s: declared twice, by %s too", t.Name+"."+d.attr.Name, old.Declared.Name))
			default:
				l.add(t, d.attr, d)
			}
		}
		l.hierarchies(t)
		l.inheritOps(t)
	}
}

// concerns reports whether t has the attribute d, which t or a type above t declares. If d.only is
// set, only the types in d.only and the types above them have the attribute.
func (d *decl) concerns(t *Type) bool {
	return d.only == nil || slices.ContainsFunc(t.Concrete, func(c *Type) bool { return slices.Contains(d.only, c) })
}

// add adds a copy of an attribute to t.
func (l *loader) add(t *Type, a Attr, d *decl) {
	a.On = t
	if d.self {
		a.Related = t
	}
	t.Attrs = append(t.Attrs, &a)
	t.attrs[a.Name] = &a
	l.from[&a] = d
}

// change applies an override to the inherited attribute a.
func change(a *Attr, d *decl) {
	a.Declared = d.attr.Declared
	if d.attr.Place.Kind != 0 {
		a.Kind, a.Place, a.ReadOnly = d.attr.Kind, d.attr.Place, d.attr.ReadOnly
	}
	a.ReadOnly = flag(d.override.ReadOnly, a.ReadOnly)
	a.Required = flag(d.override.Required, a.Required)
	if d.attr.Related != nil {
		a.Related = d.attr.Related
	}
	if d.attr.Among != nil {
		a.Among, a.Targets = d.attr.Among, d.attr.Targets
	}
}

func (l *loader) hierarchies(t *Type) {
	for _, h := range l.files[t].Hierarchies {
		up, down := t.attrs[h.Up], t.attrs[h.Down]
		if up == nil || down == nil || !up.ToOne() || !down.ToMany() {
			l.fail(at(l.files[t].line, "%s: %s and %s are no hierarchy", t.Name, h.Up, h.Down))
			continue
		}
		t.Hierarchies = append(t.Hierarchies, Hierarchy{Up: up, Down: down})
	}
}

// inheritOps puts the operations of the parent before those of t. An operation that t lists
// replaces the inherited one.
func (l *loader) inheritOps(t *Type) {
	own := t.Ops
	t.Ops = nil
	for _, op := range own {
		t.ops[op.Name] = op
	}
	if t.Parent != nil {
		for _, op := range t.Parent.Ops {
			if t.ops[op.Name] == nil {
				inherited := *op
				inherited.On = t
				t.ops[op.Name] = &inherited
				t.Ops = append(t.Ops, &inherited)
			}
		}
	}
	t.Ops = append(t.Ops, own...)
	for _, op := range t.Ops {
		if op.Effect.Result == "same" {
			op.Effect.Result = t.Name
		}
		if op.Effect.Result != "" && l.m.types[op.Effect.Result] == nil {
			l.fail(at(l.files[t].line, "%s.%s: no type %s", t.Name, op.Name, op.Effect.Result))
		}
	}
}

// resolve connects each relation with its reciprocal, and each closure with the relation of its
// hierarchy. It also checks that each code is used only once.
func (l *loader) resolve(*source) {
	values := map[int]*Attr{}
	for _, t := range l.m.Types {
		for _, a := range t.Attrs {
			d := l.from[a]
			if d.back != "" {
				if a.Back = a.Related.attrs[d.back]; a.Back == nil {
					l.fail(at(d.line, "%s: %s has no %s", a.Token(), a.Related.Name, d.back))
				}
			}
			if a.Place.Kind == Closure {
				a.Place.Closure.Up = d.attr.Declared.attrs[d.up]
			}
			for _, some := range a.Among {
				if a.Related == nil || !some.IsA(a.Related) {
					l.fail(at(d.line, "%s: takes %s, which is not of its related type", a.Token(), some.Name))
				}
			}
			if t != d.attr.Declared {
				continue
			}
			switch a.Place.Kind {
			case InLinks:
				l.code(l.m.links, "link", a, d)
			case InValues:
				l.code(values, "values", a, d)
			}
		}
	}
}

// code records the attribute that uses a code, and an error if another attribute uses it, too.
func (l *loader) code(codes map[int]*Attr, word string, a *Attr, d *decl) {
	if other := codes[a.Place.Code]; other != nil {
		l.fail(at(d.line, "%s: %s %d is already used by %s", a.Token(), word, a.Place.Code, other.Token()))
	}
	codes[a.Place.Code] = a
}
