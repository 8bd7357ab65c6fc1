package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// right plans the condition that the member has a right to a row of t. If r.Not is true, it plans
// the opposite.
func (l *level) right(t *Table, r *Right) Expr {
	if r.Not {
		return negate(Granted{l.rightTo(t, r)})
	}
	return Granted{l.rightTo(t, r)}
}

func (l *level) rightTo(t *Table, r *Right) Expr {
	var rules []rightRule
	var types [][]*meta.Type
	for _, c := range t.Of {
		rule, ok := r.ruleOf(c)
		if !ok {
			continue
		}
		i := slices.Index(rules, rule)
		if i < 0 {
			i, rules, types = len(rules), append(rules, rule), append(types, nil)
		}
		types[i] = append(types[i], c)
	}
	if len(rules) == 1 && len(types[0]) == len(t.Of) {
		return l.ruled(t, r, rules[0])
	}
	var alts Any
	for i, rule := range rules {
		alts = append(alts, All{isOf(t, types[i]), l.ruled(t, r, rule)})
	}
	return alts
}

// rightRule describes which members have the right to assets of some types.
type rightRule struct {
	roles     meta.RoleSet // roles that have the right
	moderates meta.RoleSet // roles that have the right to assets of other members
	made      meta.RoleSet // roles in the whole system of which the member also needs one; 0: none is needed
	system    bool         // true: only roles in the whole system count
	isOwn     bool         // true: the asset must belong to the member
	member    bool         // true: the assets are members
	scoped    bool         // true: assets may have a scope
	always    bool         // true: every asset has a scope
	on        *meta.Attr
	lies      *meta.Attr
	own       *meta.Attr
}

// ruleOf returns the rule for assets of a concrete type. It returns false if nobody has the right.
func (r *Right) ruleOf(t *meta.Type) (rightRule, bool) {
	k := t.KindOf(r.Op)
	op := t.Ops[:0:0]
	if o, ok := t.Op(r.Op); ok {
		op = append(op, o)
	}
	if k == nil || r.Op != "" && len(op) == 0 {
		return rightRule{}, false
	}
	if on := t.Rights.On; on != nil {
		return rightRule{on: on, roles: k.Roles(meta.ToChange, "")}, true
	}
	rule := rightRule{
		roles: k.Roles(r.Verb, r.Op), system: k.System, member: k.System && t.Name == "Member", isOwn: k.Own,
		lies: t.Rights.Lies, own: t.Rights.Own, scoped: t.Secured != meta.Secured{},
	}
	rule.always = rule.scoped && alwaysScoped(t, 0)
	if k.Own {
		rule.moderates = k.Roles(meta.ToModerate, "")
	}
	for _, o := range op {
		if result, ok := r.model.Type(o.Effect.Result); ok {
			rule.makes(result)
		}
	}
	return rule, true
}

// makes adds a condition to a rule: the member needs the right to create an asset of the type
// result. The reason is that the operation creates such an asset in the same project.
func (r *rightRule) makes(result *meta.Type) {
	k := result.Rights.Kind
	if k.System && !r.system {
		r.made = k.Roles(meta.ToCreate, "")
		return
	}
	r.roles &= k.Roles(meta.ToCreate, "")
}

// ruled returns the condition that the member has the right to a row of t by a rule.
func (l *level) ruled(t *Table, r *Right, rule rightRule) Expr {
	switch {
	case rule.on != nil:
		change := &Right{Verb: meta.ToChange, model: r.model}
		return Any{
			l.someRelated(t, rule.on, func(in *level, on *Table) Expr { return in.rightTo(on, change) }),
			All{madeBy(t), HasRole{rule.roles, false}, negate(l.someRelated(t, rule.on, nil))},
		}
	case rule.system:
		return l.inSystem(t, r, rule)
	}
	nowhere := All{HasRole{rule.roles, false}, l.liesNowhere(t, rule)}
	if !rule.isOwn {
		nowhere = append(nowhere, madeBy(t))
	}
	var x Expr = Any{l.liesIn(t, rule, rule.roles), nowhere}
	if rule.isOwn {
		x = All{x, Any{l.isOwn(t, rule), l.liesIn(t, rule, rule.moderates), HasRole{rule.moderates, true}}}
	}
	if rule.made != 0 {
		x = All{x, HasRole{rule.made, true}}
	}
	return x
}

// liesIn returns the condition that the row is in a project where the member has one of the roles.
func (l *level) liesIn(t *Table, rule rightRule, roles meta.RoleSet) Expr {
	switch {
	case rule.lies != nil:
		return l.leadsTo(t, rule.lies, func(to *Table) Expr { return RoleIn{to, roles} })
	case rule.scoped:
		return RoleIn{t, roles}
	}
	return Any{}
}

// liesNowhere returns the condition that the row is in no project.
func (l *level) liesNowhere(t *Table, rule rightRule) Expr {
	switch {
	case rule.lies != nil:
		return negate(l.leadsTo(t, rule.lies, func(to *Table) Expr { return IsNull{ColumnOf{to, "scope_id"}, true} }))
	case rule.always:
		return Any{}
	case rule.scoped:
		return IsNull{ColumnOf{t, "scope_id"}, false}
	}
	return All{}
}

// leadsTo returns the condition that a relation of the row reaches an asset that has a scope and
// satisfies cond. The relation may reach this asset through other relations.
func (l *level) leadsTo(t *Table, a *meta.Attr, cond func(*Table) Expr) Expr {
	return l.someRelated(t, a, func(in *level, to *Table) Expr {
		if lies := to.Of[0].Rights.Lies; lies != nil {
			return in.leadsTo(to, lies, cond)
		}
		return cond(to)
	})
}

// isOwn returns the condition that the asset of the row belongs to the member.
func (l *level) isOwn(t *Table, rule rightRule) Expr {
	if rule.own == nil {
		return madeBy(t)
	}
	return l.someRelated(t, rule.own, func(_ *level, m *Table) Expr { return Compare{"=", ColumnOf{m, "id"}, ActorID{}} })
}

func madeBy(t *Table) Expr { return Compare{"=", ColumnOf{t, "created_by"}, ActorID{}} }

// inSystem returns the condition for assets that belong to the whole system. A member with the role
// Member Admin has no right to members with a higher role. All members may change parts of their
// own member asset.
func (l *level) inSystem(t *Table, r *Right, rule rightRule) Expr {
	x := HasRole{rule.roles, true}
	if !rule.member {
		return x
	}
	of := All{x, Any{HasRole{meta.RolesOf(meta.SystemAdmin), true}, negate(outranks(t, r.model))}}
	if r.Verb == meta.ToChange {
		return Any{Compare{"=", ColumnOf{t, "id"}, ActorID{}}, of}
	}
	return of
}

// outranks returns the condition that the member of a row currently has a role above Member Admin,
// in any project or as the default role.
func outranks(t *Table, m *meta.Model) Expr {
	member, _ := m.Type("Member")
	a, _ := member.Attr("DefaultRole")
	var above []Expr
	for _, role := range m.Rights.Order {
		if m.Rights.Above(role, meta.MemberAdmin) {
			above = append(above, Num{a.Related.Stored(int64(role))})
		}
	}
	some := func(from *Table, column string) Expr {
		from.On = append(from.On, In{X: ColumnOf{from, column}, List: above})
		return Exists{&Select{From: from, Cells: []Expr{Num{1}}}, false}
	}
	byDefault := &Table{Kind: Link}
	byDefault.Key = Compare{"=", ColumnOf{byDefault, "from_id"}, ColumnOf{t, "id"}}
	byDefault.On = []Expr{code("relation", a.Place.Code)(byDefault), fromType(t)(byDefault)}
	inProjects := &Table{Kind: Grants}
	inProjects.Key = Compare{"=", ColumnOf{inProjects, "member_id"}, ColumnOf{t, "id"}}
	return Any{some(byDefault, "to_id"), some(inProjects, "role_id")}
}

// someRelated returns the condition that a related asset satisfies cond, or exists if cond is nil.
// Deleted assets and assets that the member does not see count, too.
func (l *level) someRelated(t *Table, a *meta.Attr, cond func(*level, *Table) Expr) Expr {
	sel := &Select{Cells: []Expr{Num{1}}}
	in := l.subquery()
	to := in.extend(sel, t, Step{Attr: a, To: a.Related, Deleted: true, All: true}, true)
	if cond != nil {
		sel.Where = []Expr{cond(in, to)}
	}
	return Exists{sel, false}
}
