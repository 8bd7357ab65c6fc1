package change

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// Differ compares versions. It is immutable and safe for concurrent use.
type Differ struct {
	model *meta.Model
	types map[*meta.Type]*places
}

// places describes where a type stores its values. Each place has the attribute under which a
// change of the stored value is reported.
type places struct {
	columns []*meta.Attr // by slot (index of the column); nil: the slot has no attribute
	state   *meta.Attr
	keys    map[string]*meta.Attr // by key of the JSON object
	forward map[int]*meta.Attr    // by code of a relation from this type
	back    map[int]*meta.Attr    // by code of a relation to this type
	values  map[int]*meta.Attr    // by code of a multi-value attribute
	order   map[*meta.Attr]int    // position of an attribute in the type's declaration
}

// NewDiffer returns a differ for the types of a model.
func NewDiffer(m *meta.Model) *Differ {
	d := &Differ{model: m, types: map[*meta.Type]*places{}}
	for _, t := range m.Types {
		d.types[t] = placesOf(m, t)
	}
	return d
}

// Reports reports whether changes of assets of type t can name the attribute. t must be concrete.
// Changes never name attributes that are derived from other attributes.
func (d *Differ) Reports(t *meta.Type, attribute string) bool {
	a, ok := t.Attr(attribute)
	p := d.types[t]
	if !ok || p == nil {
		return false
	}
	switch a.Place.Kind {
	case meta.InColumn:
		return a == p.state || a.Place.Slot >= 0 && p.columns[a.Place.Slot] == a
	case meta.InAttrs, meta.InLinks, meta.InLinksBack, meta.InValues:
		return true
	default:
		return false
	}
}

func placesOf(m *meta.Model, t *meta.Type) *places {
	p := &places{
		columns: make([]*meta.Attr, len(m.Columns)),
		keys:    map[string]*meta.Attr{},
		forward: map[int]*meta.Attr{},
		back:    map[int]*meta.Attr{},
		values:  map[int]*meta.Attr{},
		order:   map[*meta.Attr]int{},
	}
	for i, a := range t.Attrs {
		p.order[a] = i
		p.place(a)
	}
	return p
}

func (p *places) place(a *meta.Attr) {
	switch a.Place.Kind {
	case meta.InColumn:
		p.column(a)
	case meta.InAttrs:
		p.keys[a.Place.Column] = a
	case meta.InLinks:
		p.forward[a.Place.Code] = a
	case meta.InLinksBack:
		p.back[a.Place.Code] = a
	case meta.InValues:
		p.values[a.Place.Code] = a
	default: // derived from other attributes, or secret
	}
}

// column sets the attribute of a column. If several attributes share the column, changes are
// reported under the writable attribute. For example, they are reported under Scope and not under
// SecurityScope.
func (p *places) column(a *meta.Attr) {
	if a.Place.Slot < 0 {
		if a.Place.Column == "state" {
			p.state = a
		}
		return
	}
	if a.Name == "SecurityScope" {
		return
	}
	if old := p.columns[a.Place.Slot]; old == nil || old.ReadOnly && !a.ReadOnly {
		p.columns[a.Place.Slot] = a
	}
}

// Diff returns the changes of a step, in the order in which the type declares its attributes. Added
// values of a relation come before removed values. The result is empty if no value changed.
func (d *Differ) Diff(s *Step) ([]Change, error) {
	p := d.types[s.Now.Type]
	before := s.Before
	if before == nil {
		before = &Version{Columns: make([]any, len(s.Now.Columns)), State: -1}
	}
	changes := p.diffColumns(before, &s.Now)
	fromAttrs, err := p.diffAttrs(before, &s.Now)
	if err != nil {
		return nil, err
	}
	changes = append(changes, fromAttrs...)
	changes = append(changes, diffEdges(s.Edges)...)
	slices.SortStableFunc(changes, func(a, b Change) int { return p.order[a.Attr] - p.order[b.Attr] })
	return changes, nil
}

func (p *places) diffColumns(before, now *Version) []Change {
	var changes []Change
	for slot, a := range p.columns {
		if a != nil && before.Columns[slot] != now.Columns[slot] {
			changes = append(changes, Change{Attr: a, Act: Set, Old: before.Columns[slot], New: now.Columns[slot]})
		}
	}
	if p.state != nil && before.State != now.State {
		c := Change{Attr: p.state, Act: Set, New: now.State}
		if before.State >= 0 {
			c.Old = before.State
		}
		changes = append(changes, c)
	}
	return changes
}

func (p *places) diffAttrs(before, now *Version) ([]Change, error) {
	if before.Attrs == now.Attrs {
		return nil, nil
	}
	was, err := object(before)
	if err != nil {
		return nil, err
	}
	is, err := object(now)
	if err != nil {
		return nil, err
	}
	var changes []Change
	created := before.State < 0
	for key, a := range p.keys {
		from, to := was[key], is[key]
		if a.Kind == meta.Boolean && !created {
			from, to = value.OrUnset(a, from), value.OrUnset(a, to)
		}
		if from != to {
			changes = append(changes, Change{Attr: a, Act: Set, Old: from, New: to})
		}
	}
	return changes, nil
}

// object reads the values in the JSON object of a version. Numbers are returned as json.Number, so
// they are not rounded.
func object(v *Version) (map[string]any, error) {
	all := map[string]any{}
	err := value.Members(v.Attrs, func(key string, x jsontext.Token) error {
		switch x.Kind() {
		case '"':
			all[key] = x.String()
		case '0':
			all[key] = json.Number(x.String())
		case 't', 'f':
			all[key] = x.Bool()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("attributes of asset %d at moment %d: %w", v.ID, v.Moment, err)
	}
	return all, nil
}

// diffEdges returns one change for each to-one relation. For other attributes it returns one change
// for each value that began or ended.
func diffEdges(edges []Edge) []Change {
	var changes []Change
	single := map[*meta.Attr]int{}
	for _, ended := range []bool{false, true} {
		for _, e := range edges {
			if e.Ended != ended {
				continue
			}
			if !e.Attr.ToOne() {
				changes = append(changes, valueChange(e))
				continue
			}
			i, known := single[e.Attr]
			if !known {
				i = len(changes)
				single[e.Attr] = i
				changes = append(changes, Change{Attr: e.Attr, Act: Set})
			}
			if ended {
				changes[i].Old = e.Value
			} else {
				changes[i].New = e.Value
			}
		}
	}
	return changes
}

func valueChange(e Edge) Change {
	if e.Ended {
		return Change{Attr: e.Attr, Act: Removed, Old: e.Value}
	}
	return Change{Attr: e.Attr, Act: Added, New: e.Value}
}
