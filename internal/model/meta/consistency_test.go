package meta

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// extended returns the model with custom lists, and with attributes of every kind: on
// abstract and on concrete types, in use and retired.
func extended(t *testing.T) *Model {
	t.Helper()
	m, err := Default().Extend(Custom{
		Lists: []CustomList{
			{ID: 5001, Name: "Custom_OriginType", Display: "Origin", Code: 10000},
			{ID: 5002, Name: "Custom_Former", Code: 10001, Retired: true},
		},
		Attributes: []CustomAttribute{
			{ID: 6001, Type: "Story", Name: "Custom_Text", Kind: Text, Order: 2},
			{ID: 6002, Type: "Story", Name: "Custom_Note", Kind: LongText, Order: 1},
			{ID: 6003, Type: "PrimaryWorkitem", Name: "Custom_Weight", Kind: Numeric, Required: true},
			{ID: 6004, Type: "Workitem", Name: "Custom_Due", Kind: Date, DateOnly: true},
			{ID: 6005, Type: "Defect", Name: "Custom_Regression", Kind: Boolean},
			{ID: 6006, Type: "Defect", Name: "Custom_Weighed", Kind: Boolean, Retired: true},
			{ID: 6007, Type: "Epic", Name: "Custom_Text", Kind: Text},
			{ID: 6008, Type: "Story", Name: "Custom_Origin", Kind: Relation, To: "Custom_OriginType", Back: "Custom_Stories", Code: 10000},
			{ID: 6009, Type: "Workitem", Name: "Custom_Reviewers", Kind: Relation, To: "Member", Many: true, Back: "Custom_Reviews", Code: 10001},
			{ID: 6010, Type: "Scope", Name: "Custom_Sponsor", Kind: Relation, To: "Member", Code: 10002},
			{ID: 6011, Type: "Task", Name: "Custom_Gone", Kind: Relation, To: "Custom_Former", Back: "Custom_Tasks", Code: 10003, Retired: true},
			{ID: 6012, Type: "Custom_OriginType", Name: "Custom_Color", Kind: Text},
			{ID: 6013, Type: "BaseAsset", Name: "Custom_Anywhere", Kind: Text},
			{ID: 6014, Type: "BaseAsset", Name: "Custom_Cost", Kind: Numeric, Code: 1},
			{ID: 6015, Type: "PrimaryWorkitem", Name: "Custom_Start", Kind: Date, Code: 3},
			{ID: 6016, Type: "Story", Name: "Custom_Motto", Kind: Text, Code: 1},
			{ID: 6017, Type: "Epic", Name: "Custom_Motto", Kind: Text, Code: 1},
			{ID: 6018, Type: "Task", Name: "Custom_Former", Kind: Text, Code: 1, Retired: true},
			{ID: 6019, Type: "Defect", Name: "Custom_Cause", Kind: Text, Code: 8},
			{ID: 6020, Type: "Test", Name: "Custom_Cause", Kind: Text, Code: 2},
			{ID: 6021, Type: "Custom_OriginType", Name: "Custom_Letter", Kind: Text, Code: 1},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// models runs a test with the model, and with the extended model.
func models(t *testing.T, f func(t *testing.T, m *Model)) {
	t.Helper()
	t.Run("own", func(t *testing.T) { f(t, Default()) })
	t.Run("extended", func(t *testing.T) { f(t, extended(t)) })
}

// This function calls f with each attribute of each type.
func every(m *Model, f func(t *Type, a *Attr)) {
	for _, t := range m.Types {
		for _, a := range t.Attrs {
			f(t, a)
		}
	}
}

// The columns of the model are those of the tables asset and asset_version, in the same order.
func TestColumns(t *testing.T) {
	var got []string
	for _, c := range Default().Columns {
		got = append(got, c.Name+" "+string(c.Kind))
	}
	want := []string{
		"name text", "number text", "description long", "scope_id ref", "parent_id ref", "super_id ref",
		"timebox_id ref", "team_id ref", "status_id ref", "priority_id ref", "source_id ref", "category_id ref",
		"order_key int", "estimate number", "todo number", "detail_estimate number", "value number",
		"begin_date micros", "end_date micros",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A relation and its reciprocal refer to each other, and their places agree.
func TestReciprocals(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		every(m, func(typ *Type, a *Attr) {
			if (a.Kind == Relation) != (a.Related != nil) {
				t.Errorf("%s: a relation has a related type, nothing else has", a.Token())
			}
			if a.Back == nil {
				return
			}
			if a.Back.On != a.Related {
				t.Errorf("%s: reciprocal %s is not on %s", a.Token(), a.Back.Token(), a.Related.Name)
			}
			if a.Name == "ID" || a.Name == "Now" || a.Name == "History" {
				return // the relations between versions: the reciprocal of Now is ID, not History
			}
			there := a.Back.Back
			if there == nil || there.Name != a.Name || !typ.IsA(there.On) && !a.Back.Reaches(typ) {
				t.Errorf("%s: %s leads back elsewhere", a.Token(), a.Back.Token())
			}
			pairs := map[PlaceKind]PlaceKind{
				InColumn: Reverse, Reverse: InColumn, InLinks: InLinksBack, InLinksBack: InLinks,
				Closure: Closure, System: System,
			}
			if pairs[a.Place.Kind] != a.Back.Place.Kind || a.Place.Code != a.Back.Place.Code {
				t.Errorf("%s and %s do not share a place", a.Token(), a.Back.Token())
			}
		})
	})
}

// A relation accepts exactly its declared types, at both ends.
func TestTargets(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for token, want := range map[string]string{
			"Story.Dependencies": "Story Defect Epic", "Epic.Dependants": "Story Defect Epic", "Workitem.Dependencies": "Story Defect Epic",
			"Task.Parent": "Story Defect TestSet",
		} {
			typeName, name, _ := strings.Cut(token, ".")
			typ, _ := m.Type(typeName)
			a, _ := typ.Attr(name)
			var got []string
			for _, other := range m.Types {
				if !other.Abstract && a.Takes(other) {
					got = append(got, other.Name)
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s takes %s, want %s", token, s, want)
			}
		}
		attachment, _ := m.Type("Attachment")
		asset, _ := attachment.Attr("Asset")
		for name, want := range map[string]bool{"Story": true, "Expression": true, "BaseAsset": true, "Conversation": false, "Note": false, "List": false} {
			if typ, _ := m.Type(name); asset.Reaches(typ) != want {
				t.Errorf("an attachment on a %s: %v", name, !want)
			}
		}
		every(m, func(_ *Type, a *Attr) {
			for _, target := range a.Targets {
				if target.Abstract || a.Back == nil {
					t.Errorf("%s leads to %s", a.Token(), target.Name)
				}
				if back, ok := target.Attr(a.Back.Name); !ok || back.Place.Code != a.Place.Code || !back.Takes(a.On) && !a.On.Abstract {
					t.Errorf("%s has no way back from %s", a.Token(), target.Name)
				}
			}
		})
	})
}

// Every attribute of every type is found by its name and has a suitable place.
func TestPlaces(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		every(m, func(typ *Type, a *Attr) {
			if found, ok := typ.Attr(a.Name); !ok || found != a || a.On != typ || !typ.IsA(a.Declared) {
				t.Errorf("%s is lost or misplaced", a.Token())
			}
			switch p := a.Place; p.Kind {
			case InColumn:
				if p.Slot >= 0 && m.Columns[p.Slot].Name != p.Column || p.Slot < 0 && !slices.Contains(fixedColumns, p.Column) {
					t.Errorf("%s: slot %d is not %s", a.Token(), p.Slot, p.Column)
				}
			case InAttrs:
				if p.Column != a.Name || a.Multi || a.Kind == Relation {
					t.Errorf("%s cannot lie in attrs", a.Token())
				}
			case InLinks:
				if forward, ok := m.LinkByCode(p.Code); !ok || forward.Name != a.Name || !typ.IsA(forward.On) {
					t.Errorf("%s: link %d leads elsewhere", a.Token(), p.Code)
				}
			case InValues:
				if p.Code <= 0 || !a.Multi {
					t.Errorf("%s cannot lie in values", a.Token())
				}
			case Closure:
				if up := p.Closure.Up; up == nil || !up.ToOne() || up.On != a.Declared {
					t.Errorf("%s follows nothing", a.Token())
				}
			case Calc, System, Validator:
				if p.Expr == "" || !a.ReadOnly {
					t.Errorf("%s is derived: read-only, from something", a.Token())
				}
			case Reverse, InLinksBack:
				if a.Back == nil || !a.Multi {
					t.Errorf("%s is the other side of nothing", a.Token())
				}
			case Secret:
				if a.Kind != Password {
					t.Errorf("%s is no secret", a.Token())
				}
			default:
				t.Errorf("%s has no place", a.Token())
			}
		})
	})
}

// In one type a column belongs to one attribute. Only Scope and SecurityScope are two names
// for one value.
func TestColumnsAreNotShared(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for _, typ := range m.Types {
			holders := map[string]string{}
			for _, a := range typ.Attrs {
				if a.Place.Kind != InColumn || a.Place.Column == "scope_id" && a.Name == "SecurityScope" {
					continue
				}
				if other := holders[a.Place.Column]; other != "" {
					t.Errorf("%s: %s and %s share a column", typ.Name, a.Name, other)
				}
				holders[a.Place.Column] = a.Name
			}
		}
	})
}

func TestClosuresAreComplete(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for _, typ := range m.Types {
			for _, h := range typ.Hierarchies {
				for _, name := range []string{
					h.Up.Name + "AndMe", h.Up.Name + "AndUp", h.Up.Name + "MeAndUp",
					h.Down.Name + "AndMe", h.Down.Name + "AndDown", h.Down.Name + "MeAndDown",
				} {
					a, ok := typ.Attr(name)
					if !ok {
						t.Errorf("no %s.%s", typ.Name, name)
						continue
					}
					c := a.Place.Closure
					down := strings.HasPrefix(name, h.Down.Name)
					transitive := strings.HasSuffix(name, "Up") || strings.HasSuffix(name, "Down")
					if c.Up != h.Up || c.Down != down || c.Transitive != transitive || c.Me != strings.Contains(name, "Me") {
						t.Errorf("%s: %+v", a.Token(), c)
					}
				}
			}
		}
	})
}

// The validator of an operation is an attribute that refers to the operation, or to another
// operation of the type with the same validator.
func TestValidators(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for _, typ := range m.Types {
			for _, op := range typ.Ops {
				if found, ok := typ.Op(op.Name); !ok || found != op || op.On != typ {
					t.Errorf("%s.%s is lost", typ.Name, op.Name)
				}
				if op.Effect.To < 0 && !op.Effect.Back && len(op.Effect.Set) == 0 && op.Effect.Code == "" {
					t.Errorf("%s.%s does nothing", typ.Name, op.Name)
				}
				if op.Validator == "" {
					continue
				}
				a, ok := typ.Attr(op.Validator)
				if !ok || a.Place.Kind != Validator {
					t.Errorf("%s.%s: no validator %s", typ.Name, op.Name, op.Validator)
					continue
				}
				if named, ok := typ.Op(a.Place.Expr); !ok || named.Validator != op.Validator {
					t.Errorf("%s names %s", a.Token(), a.Place.Expr)
				}
			}
		}
		every(m, func(typ *Type, a *Attr) {
			if _, ok := typ.Op(a.Place.Expr); a.Place.Kind == Validator && !ok {
				t.Errorf("%s: no operation %s", a.Token(), a.Place.Expr)
			}
		})
	})
}

// A type is found by its code, only leaves are concrete, and a type with a Number has a
// prefix for it.
func TestTypeTree(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for _, typ := range m.Types {
			if found, ok := m.TypeByCode(typ.Code); !ok || found != typ {
				t.Errorf("%s: code %d", typ.Name, typ.Code)
			}
			if typ.Abstract != (len(typ.Children) > 0) || len(typ.Concrete) == 0 {
				t.Errorf("%s: abstract is what has children", typ.Name)
			}
			for _, leaf := range typ.Concrete {
				if leaf.Abstract || !leaf.IsA(typ) {
					t.Errorf("%s is no leaf of %s", leaf.Name, typ.Name)
				}
			}
			if _, numbered := typ.Attr("Number"); !typ.Abstract && numbered != (typ.NumberPrefix != "") {
				t.Errorf("%s: number %q", typ.Name, typ.NumberPrefix)
			}
			if via := typ.Secured.Via; via != "" {
				if a, _ := typ.Attr(via); !a.ToOne() {
					t.Errorf("%s is secured via %s, which is no single asset", typ.Name, via)
				}
			}
			if _, ok := typ.Attr("SecurityScope"); !ok && typ.Secured != (Secured{}) {
				t.Errorf("%s is secured and cannot show it", typ.Name)
			}
		}
	})
}

// Well-known assets have all required attributes and unique ids.
func TestInstances(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		stored, tokens := map[int64]string{}, map[string]bool{}
		name := func(in Instance) string { return in.Type.Name + ":" + strconv.FormatInt(in.ID, 10) }
		for _, in := range m.Instances {
			id := in.Type.Stored(in.ID)
			if other := stored[id]; other != "" || id > 1000 {
				t.Errorf("%s is stored as %d, as is %q", name(in), id, other)
			}
			stored[id], tokens[name(in)] = name(in), true
		}
		for _, in := range m.Instances {
			for attr, value := range in.Attrs {
				if a, _ := in.Type.Attr(attr); a.Kind == Relation && !tokens[value] {
					t.Errorf("%s.%s: no %s", name(in), attr, value)
				}
			}
			for _, a := range in.Type.Attrs {
				if _, given := in.Attrs[a.Name]; a.Required && !given && name(in)+a.Name != "Scope:0Parent" {
					t.Errorf("%s: no %s", name(in), a.Name)
				}
			}
		}
		for _, want := range []string{"Scope:0", "Member:20", "Role:0", "Role:12", "State:100", "StoryStatus:137", "TestStatus:155", "Scheme:1001", "EpicCategory:208"} {
			if !tokens[want] {
				t.Errorf("no %s", want)
			}
		}
	})
}

// All built-in types have names for people. The basic attributes of a type are attributes of this
// type, and none of them is a password.
func TestDescriptions(t *testing.T) {
	models(t, func(t *testing.T, m *Model) {
		for _, typ := range m.Types {
			if typ.DisplayNames["Scrum"] == "" && !typ.Custom {
				t.Errorf("%s has no display name", typ.Name)
			}
			for _, a := range typ.Basic {
				if a.On != typ || a.Place.Kind == Secret {
					t.Errorf("%s is basic on %s", a.Token(), typ.Name)
				}
			}
		}
	})
}
