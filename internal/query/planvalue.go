package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// value returns the expression for the value of a path that starts at a row of t. If print is true,
// a value in the JSON of an asset is read as text.
func (l *level) value(t *Table, p Path, print bool) Expr {
	if p.Agg != None {
		return l.aggregate(t, p, true)
	}
	if l.flat && len(p.Steps) > 0 {
		s := &Select{}
		inner := l.subquery()
		for _, st := range p.Steps {
			t = inner.extend(s, t, st, false)
		}
		s.Cells = []Expr{inner.leaf(t, p.Leaf, print)}
		return Scalar{s}
	}
	return l.leaf(l.steps(t, p.Steps), p.Leaf, print)
}

// subquery returns the level of a sub-select, in which "$" is the same row as in l.
func (l *level) subquery() *level {
	return &level{planner: l.planner, row: l.row, joins: newJoins()}
}

// leaf returns the expression for the value of a leaf in a row of t.
func (l *level) leaf(t *Table, leaf Leaf, print bool) Expr {
	switch {
	case leaf.Cond != nil:
		return ifPresent(t, BoolInt{l.cond(t, *leaf.Cond)})
	case leaf.Path != nil:
		return ifPresent(t, l.value(t, *leaf.Path, false))
	case leaf.Union != nil:
		return l.union(t, leaf.Union)
	case leaf.Attr == nil:
		return ColumnOf{t, "id"}
	}
	a := leaf.Attr
	switch a.Place.Kind {
	case meta.InColumn:
		return ColumnOf{t, a.Place.Column}
	case meta.InAttrs:
		if a.Kind == meta.Boolean {
			return ifPresent(t, Coalesce{JSON{t, a.Place.Column, a.Kind}, unset(a)})
		}
		if print {
			return JSONText{t, a.Place.Column}
		}
		return JSON{t, a.Place.Column, a.Kind}
	case meta.System:
		return l.system(t, a)
	}
	return l.fail("%s is not supported", a.Token())
}

// unset returns the value of a Boolean that was never written.
func unset(a *meta.Attr) Expr {
	if a.Unset() {
		return Num{1}
	}
	return Num{0}
}

// union returns the expression for a value that is stored in a different place for each type.
func (l *level) union(t *Table, u *Union) Expr {
	by := make(Switch, len(u.Cases))
	for i, c := range u.Cases {
		by[i] = If{isOf(t, c.Types), l.leaf(t, c.Leaf, false)}
	}
	return by
}

// ifPresent returns x if t has a row, otherwise NULL. x is a computed value, which would not be NULL
// without a row.
func ifPresent(t *Table, x Expr) Expr {
	if !t.Left {
		return x
	}
	return If{IsNull{ColumnOf{t, "id"}, true}, x}
}

// system returns the expression for a system value (meta.System).
func (l *level) system(t *Table, a *meta.Attr) Expr {
	if c, ok := systemColumns[a.Name]; ok {
		return ColumnOf{t, c}
	}
	switch a.Name {
	case "Key":
		if base := a.On.IDBase; base != 0 {
			return Minus{ColumnOf{t, "id"}, Num{base}}
		}
		return ColumnOf{t, "id"}
	case "IsSelf":
		return ifPresent(t, BoolInt{Compare{"=", ColumnOf{t, "id"}, ActorID{}}})
	case "Is":
		if t.When.Mode == Now {
			return ifPresent(t, Num{1})
		}
		return ifPresent(t, BoolInt{Compare{"=", ColumnOf{t, "until_moment"}, Num{forever}}})
	case "ChangeComment", "MyLastChangeComment":
		return ofWrite(ColumnOf{t, "audit_id"}, "comment")
	case "ChangeReason", "MyLastChangeReason":
		return ofWrite(ColumnOf{t, "audit_id"}, "reason")
	case "ChangeApplication":
		return ofWrite(ColumnOf{t, "audit_id"}, "application")
	case "ChangeTool":
		return ofWrite(ColumnOf{t, "audit_id"}, "tool")
	case "CreateComment", "CreateReason":
		name := "comment"
		if a.Name == "CreateReason" {
			name = "reason"
		}
		v := versionOf(t, "moment", ColumnOf{t, "created_moment"})
		return ofWrite(Scalar{&Select{From: v, Cells: []Expr{ColumnOf{v, "audit_id"}}}}, name)
	case "RetireComment":
		return ofWrite(next(t, "audit_id"), "comment")
	case "RetireDate", "RetireDateUTC":
		return next(t, "changed_at")
	case "ClosedDate":
		return closing(t, "changed_at")
	case "RetireReason":
		return ofWrite(next(t, "audit_id"), "reason")
	case "Days":
		var end Expr = Clock{} // a current version has no end
		if t.When.Mode != Now {
			end = Coalesce{next(t, "changed_at"), end}
		}
		return Days{From: ColumnOf{t, "changed_at"}, To: end}
	case "Duration":
		begin, end := ColumnOf{t, "begin_date"}, ColumnOf{t, "end_date"}
		return If{All{IsNull{begin, true}, IsNull{end, true}}, Days{From: begin, To: end, Written: true}}
	case "EstimatedDone":
		return Minus{Bounded{ColumnOf{t, "detail_estimate"}}, Bounded{ColumnOf{t, "todo"}}}
	}
	return l.fail("%s is not supported", a.Token())
}

// forever is the until_moment of a current version. It equals db.Forever.
const forever = 9223372036854775807

// systemColumns has the names of the columns that store system values.
var systemColumns = map[string]string{
	"Moment": "moment", "MyLastChangeMoment": "moment",
	"CreateDate": "created_at", "CreateDateUTC": "created_at",
	"ChangeDate": "changed_at", "ChangeDateUTC": "changed_at",
	"MyLastChangeDate": "changed_at", "MyLastChangeDateUTC": "changed_at",
}

// versionOf returns the table of the versions of t's asset in which a column has the value x.
func versionOf(t *Table, column string, x Expr) *Table {
	v := &Table{Kind: Asset, When: When{Mode: Version}, Gone: true}
	v.Key = Compare{"=", ColumnOf{v, "id"}, ColumnOf{t, "id"}}
	v.On = []Expr{Compare{"=", ColumnOf{v, column}, x}}
	return v
}

// next returns a column of the version that came after the version in t. It is NULL if the version in
// t is current.
func next(t *Table, column string) Expr {
	if t.When.Mode == Now {
		return Null{}
	}
	v := versionOf(t, "moment", ColumnOf{t, "until_moment"})
	return Scalar{&Select{From: v, Cells: []Expr{ColumnOf{v, column}}}}
}

// closing returns a column of the version in which the asset of t was closed. It is NULL if the
// asset is open in t. The asset is closed in that version and in all later versions up to t, but
// not in the version before it.
func closing(t *Table, column string) Expr {
	moment := func(v *Table) Expr { return ColumnOf{v, "moment"} }
	state := func(v *Table, op string) Expr { return Compare{op, ColumnOf{v, "state"}, Num{meta.StateClosed}} }
	v := versionOf(t, "state", Num{meta.StateClosed})
	before := versionOf(v, "until_moment", moment(v))
	after := &Table{Kind: Asset, When: When{Mode: Version}, Gone: true}
	after.Key = Compare{"=", ColumnOf{after, "id"}, ColumnOf{v, "id"}}
	return Scalar{&Select{
		From:  v,
		Cells: []Expr{ColumnOf{v, column}},
		Where: []Expr{
			state(t, "="),
			Compare{"<=", moment(v), moment(t)},
			Exists{&Select{From: before, Cells: []Expr{Num{1}}, Where: []Expr{state(before, "=")}}, true},
			Exists{&Select{From: after, Cells: []Expr{Num{1}}, Where: []Expr{
				state(after, "<>"),
				Compare{">", moment(after), moment(v)},
				Compare{"<=", moment(after), moment(t)},
			}}, true},
		},
	}}
}

// ofWrite returns a column of the audit whose id is the expression audit. If audit is always
// NULL, ofWrite returns NULL instead of a sub-select, because in a distinct count, MySQL counts a
// sub-select that never has a row as one value.
func ofWrite(audit Expr, column string) Expr {
	if isNull(audit) {
		return Null{}
	}
	a := &Table{Kind: Audit}
	a.Key = Compare{"=", ColumnOf{a, "id"}, audit}
	return Scalar{&Select{From: a, Cells: []Expr{ColumnOf{a, column}}}}
}

// aggregate returns one value over all values at the end of a path. Deleted assets count unless a
// filter excludes them. If parts is true, each to-many step aggregates the values of its assets,
// and the step before it aggregates these results. So the results of an asset are computed once,
// even if several paths reach the asset.
func (l *level) aggregate(t *Table, p Path, parts bool) Expr {
	s := &Select{Once: true}
	inner := l.subquery()
	cur := t
	for i, st := range p.Steps {
		if s.From == nil && !st.Attr.Multi && !l.flat {
			cur = l.join(cur, st)
			continue
		}
		if parts && s.From != nil && st.Attr.Multi && p.Agg != DistinctCount {
			rest := p
			rest.Steps = p.Steps[i:]
			s.Cells = []Expr{ofParts(p.Agg, inner.aggregate(cur, rest, true))}
			return Scalar{s}
		}
		cur = inner.extend(s, cur, st, false)
	}
	if p.Leaf.Attr != nil && p.Leaf.Attr.Multi {
		v := inner.valuesTable(cur, p.Leaf.Attr)
		if s.From == nil {
			s.From = v
		} else {
			cur.Joins = append(cur.Joins, v)
		}
		kind := p.Leaf.Attr.Kind
		if p.Agg == Sum { // the sum of 64-bit integers may need more than 64 bits
			kind = meta.Numeric
		}
		s.Cells = []Expr{function(p.Agg, counted(p.Agg, valueOf(v, kind), kind))}
		return Scalar{s}
	}
	if s.From == nil {
		return ofOne(p.Agg, l.leaf(cur, p.Leaf, false))
	}
	leaf := p
	leaf.Agg = None
	s.Cells = []Expr{function(p.Agg, counted(p.Agg, inner.leaf(cur, p.Leaf, false), leaf.Kind()))}
	return Scalar{s}
}

// ofParts returns an aggregate over several parts. x is the aggregate of one part.
func ofParts(agg Agg, x Expr) Expr {
	if agg == Count {
		return Coalesce{Number{function(Sum, x), meta.Date}, Num{0}} // for meta.Date, Number is a whole number
	}
	return function(agg, x)
}

// counted returns x in the form that an aggregate needs. For example, a distinct count needs the
// folded form of texts, so that equal texts count once.
func counted(agg Agg, x Expr, kind meta.Kind) Expr {
	if agg == Sum && kind == meta.Numeric {
		return Bounded{x}
	}
	if agg == DistinctCount && value.IsText(kind) {
		return folded(x)
	}
	return collated(x, kind)
}

// valueOf returns the value in a row of a multi-value scalar. The table stores the value as text.
func valueOf(v *Table, kind meta.Kind) Expr {
	if value.IsNumber(kind) {
		return Number{ColumnOf{v, "value"}, kind}
	}
	return ColumnOf{v, "value"}
}

// ofOne returns an aggregate over at most one value, x.
func ofOne(agg Agg, x Expr) Expr {
	if agg == Count || agg == DistinctCount {
		return BoolInt{IsNull{x, true}}
	}
	return x
}

func function(agg Agg, x Expr) Expr {
	f := Func{X: x}
	switch agg {
	case Sum:
		f.Name = "SUM"
	case Count, DistinctCount:
		f.Name, f.Distinct = "COUNT", agg == DistinctCount
		if c, ok := x.(ColumnOf); ok && !f.Distinct && !c.T.Left && c.Name == "id" {
			f.X = nil
		}
	case Min, MinDate, AllOf:
		f.Name = "MIN"
	default:
		f.Name = "MAX"
	}
	return f
}
