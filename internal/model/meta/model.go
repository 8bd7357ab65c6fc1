package meta

import "slices"

// Model is the content of model.yaml, with all names resolved. It is immutable and safe for
// concurrent use.
type Model struct {
	Types     []*Type    // in the order of the file; parents come before their children
	Columns   []Column   // the typed columns that attributes share; Place.Slot is an index of this slice
	Instances []Instance // well-known assets, in the order of the file
	Rights    *Rights    // who may do what; nil in the models of tests that have no rights

	source *source // the files from which the model was made

	types map[string]*Type
	codes map[int]*Type
	links map[int]*Attr // forward attribute of each link relation, by Place.Code
}

// Type is one asset type.
type Type struct {
	Name     string
	Code     int     // stored in asset.type; never changes, never reused
	IDBase   int64   // stored id minus the number in the Oid; 0 unless well-known ids would conflict
	Parent   *Type   // nil for a root
	Abstract bool    // has child types, so no instances
	Children []*Type // direct child types
	Concrete []*Type // the leaf types below, or itself if it is a leaf; file order

	DisplayNames map[string]string // by methodology; all types except custom lists have one for Scrum
	NumberPrefix string            // such as "S-"; empty if the type has no Number
	RankSpace    string            // types with the same word share one ranking; by default its own name

	Custom     bool  // added by an administrator: a list
	Retired    bool  // a retired custom list: its assets remain, but no name refers to it
	Emptied    bool  // a custom list that was deleted with its data: its assets are empty, or soon will be
	Definition int64 // stored id of the AssetType that defines a custom list; 0 for built-in types

	Metadata  bool       // describes the model; no request writes its assets with negative ids, which belong to the model
	Secured   Secured    // where the SecurityScope of its assets comes from
	Seen      Seen       // who sees its assets, if the SecurityScope does not decide alone
	Follows   Follows    // attributes that always equal those of a related asset
	StateFrom StateFrom  // AssetState for the values of an attribute
	Period    Period     // two dates, of which the second is never before the first
	Protected *Protected // its well-known assets, if they are protected; else nil
	PartOf    PartOf     // the asset that each of its assets belongs to
	Sealed    *Attr      // an asset is read-only once other assets, even deleted ones, refer to it by this relation
	Rights    TypeRights // who may write its assets

	Kept        []*Attr     // retired custom attributes, own and inherited: they keep their values, but have no name
	Attrs       []*Attr     // own and inherited, in order of declaration from the root down
	Ops         []*Op       // own and inherited
	Hierarchies []Hierarchy // own and inherited

	OrderBy, DisplayBy, ShortName, NameAttr, Description string   // attribute names; empty when the type has none
	ResolveBy                                            []string // attributes in which names are looked up
	Basic                                                []*Attr  // what a read without sel returns

	attrs    map[string]*Attr
	partials map[string]*Partial
	ops      map[string]*Op
}

// Secured says where the SecurityScope (column scope_id) of an asset comes from. The zero value
// means that the asset has no SecurityScope, and that everyone sees it.
type Secured struct {
	Self bool   // the asset itself
	Via  string // to-one attribute whose target has the SecurityScope; a target that is a Scope is the SecurityScope
}

// Follows says that Attributes always have the same values as on the target of the to-one attribute
// Relation. The zero value means that there are no such attributes.
type Follows struct {
	Relation   string
	Attributes []string
}

// StateFrom maps values of Attribute, as Oid tokens, to an AssetState. The zero value means that no
// attribute decides the state.
type StateFrom struct {
	Attribute string
	States    map[string]int
}

// Period names two dates of a type; the second is never before the first. The zero value means that
// the type has no such dates.
type Period struct{ Begin, End string }

// Protected are the well-known assets of a type. They are never closed or deleted, and the
// values of Attributes never change.
type Protected struct {
	Attributes []string
	IDs        []int64 // stored ids, ascending
}

// IsProtected reports whether the asset with the stored id is protected.
func (t *Type) IsProtected(id int64) bool {
	if t.Protected == nil {
		return false
	}
	_, found := slices.BinarySearch(t.Protected.IDs, id)
	return found
}

// PartOf says that assets belong to the target of the to-one attribute Relation, and that the
// operations Ops on that target also run on them. The zero value means that the assets belong to no
// other asset.
type PartOf struct {
	Relation string
	Ops      []string
}

// Hierarchy is a tree of assets, which a to-one attribute and its reciprocal define. Both belong to
// the declaring type. Six closures of the tree are generated.
type Hierarchy struct {
	Up, Down *Attr // such as Workitem.Super and Workitem.Subs
}

// Kind is the type of an attribute, in the spelling of the metadata. No kind can be added, since
// existing clients read the kinds.
type Kind string

// The attribute types.
const (
	Boolean      Kind = "Boolean"
	Numeric      Kind = "Numeric"  // double
	Date         Kind = "Date"     // see Attr.DateOnly
	Duration     Kind = "Duration" // "N Days", "N Weeks", "N Months"
	Text         Kind = "Text"     // up to 4000 characters
	LongText     Kind = "LongText" // unlimited
	LocalizerTag Kind = "LocalizerTag"
	Password     Kind = "Password" // write-only
	AssetType    Kind = "AssetType"
	Relation     Kind = "Relation"
	Opaque       Kind = "Opaque"
	State        Kind = "State" // 0..255
	Rank         Kind = "Rank"  // integer
	Blob         Kind = "Blob"  // bytes, base64 in JSON
	LongInt      Kind = "LongInt"
	GUID         Kind = "Guid"
)

// Attr is one attribute definition on one type.
type Attr struct {
	Name     string
	On       *Type // the type of its token: On.Name + "." + Name
	Declared *Type // the type that declares (or overrides) it
	Kind     Kind
	DateOnly bool  // Kind Date without a time of day: printed 2016-06-19
	UTC      bool  // Kind Date printed with seven digits and Z
	Related  *Type // Kind Relation: the type to which it refers, as the metadata states it
	Multi    bool

	// Targets are the concrete types to which the relation may refer; nil means the concrete types
	// of Related. See Takes.
	Targets []*Type
	// Among are the types in which a name is looked up, in this order. They contain all Targets;
	// nil means only Related.
	Among []*Type

	ReadOnly, Required, Canned, Custom bool

	Retired    bool   // a retired custom attribute; only in Type.Kept
	Definition int64  // stored id of the row that defines a custom attribute; 0 for built-in attributes
	Display    string // the name for people of a custom attribute; else empty

	Default string // value of a new asset if the request has none: empty, a value, "@caller" (the acting member) or "@now"
	Range   *Range // the values that may be written to a Numeric; nil: any number

	Back  *Attr // the reciprocal on Related, or nil
	Place Place
}

// Range is the lowest and the highest number that may be written. Stored values may be
// outside.
type Range struct{ Low, High float64 }

// InRange reports whether the range allows a value to be written.
func (a *Attr) InRange(v any) bool {
	x, ok := v.(float64)
	return a.Range == nil || !ok || x >= a.Range.Low && x <= a.Range.High
}

// Token returns the definition's token, such as "Story.Name".
func (a *Attr) Token() string { return a.On.Name + "." + a.Name }

// Takes reports whether an asset of the concrete type t may be a value of the relation.
func (a *Attr) Takes(t *Type) bool {
	if a.Targets != nil {
		return slices.Contains(a.Targets, t)
	}
	return t.IsA(a.Related)
}

// Reaches reports whether a value of the relation may be a t, or an asset of a type below it.
func (a *Attr) Reaches(t *Type) bool { return slices.ContainsFunc(t.Concrete, a.Takes) }

// TargetTypes returns the concrete types a value of the relation may have.
func (a *Attr) TargetTypes() []*Type {
	if a.Targets != nil {
		return a.Targets
	}
	return a.Related.Concrete
}

// Unset returns the value of a Boolean that was never written.
func (a *Attr) Unset() bool { return a.Default == "true" }

// ToOne reports whether the attribute is a relation to at most one asset.
func (a *Attr) ToOne() bool { return a.Kind == Relation && !a.Multi }

// ToMany reports whether the attribute is a relation to any number of assets.
func (a *Attr) ToMany() bool { return a.Kind == Relation && a.Multi }

// PlaceKind says where the value of an attribute is stored.
type PlaceKind uint8

// The kinds of places. Values in InColumn, InAttrs, InValues and InLinks are stored. The values in
// all other places are derived from stored values.
const (
	// InColumn: the column asset.<Column>. For a to-one relation it has the id of the target.
	InColumn PlaceKind = iota + 1
	// InAttrs: the key <Column> of the JSON object asset.attrs. Text, LongText, Guid,
	// Duration and LocalizerTag are strings. Numeric, Rank, State and LongInt are numbers. A
	// Boolean is true or false, a Date the UTC microseconds as a number, a Blob the reference
	// of a content (package blob). Null values are never stored.
	InAttrs
	// InValues: rows of asset_value with attribute = Code (multi-value scalars).
	InValues
	// InLinks: rows of asset_link with relation = Code and from_id = this asset. To-one
	// relations without a column are stored here too, with at most one row.
	InLinks
	// InLinksBack: rows of asset_link with relation = Code and to_id = this asset. Back is the
	// forward attribute.
	InLinksBack
	// Reverse: the assets whose attribute Back, which is in a column, refers to this asset;
	// to-many.
	Reverse
	// Closure: generated from a hierarchy; see Place.Closure.
	Closure
	// Calc: the query-language expression Place.Expr, evaluated on this asset. It is a filter
	// for a Boolean and a selection token for all other kinds.
	Calc
	// System: computed by code for the name in Place.Expr (ID, Moment, CreateDate, IsSelf, ...).
	// See model.yaml "system".
	System
	// Validator: Boolean, true when the operation Place.Expr may run on the asset now and the
	// caller has the right to run it.
	Validator
	// Secret: a Password. It is written to the table of credentials and never read.
	Secret
)

// Place is where the value of an attribute is stored.
type Place struct {
	Kind    PlaceKind
	Column  string // InColumn: column name; InAttrs: JSON key
	Slot    int    // InColumn: index into Model.Columns, or -1 for the fixed columns (type, state, moment, ...)
	Code    int    // InLinks, InLinksBack: relation code; InValues: attribute code
	Expr    string // Calc, System, Validator
	Closure ClosureOf
}

// ClosureOf describes a generated closure of a hierarchy.
type ClosureOf struct {
	Up         *Attr // the to-one attribute of the hierarchy, such as Scope.Parent
	Down       bool  // down the hierarchy, to the leaves
	Me         bool  // includes the asset itself
	Transitive bool  // all levels, not only the next one
}

// Column is one typed column of the tables asset and asset_version. NULL means no value.
type Column struct {
	Name string
	Kind ColumnKind
}

// ColumnKind is the type of a column.
type ColumnKind string

// The column kinds.
const (
	Ref    ColumnKind = "ref"    // BIGINT, an asset id
	Str    ColumnKind = "text"   // VARCHAR
	Long   ColumnKind = "long"   // LONGTEXT
	Number ColumnKind = "number" // DOUBLE
	Int    ColumnKind = "int"    // BIGINT (ranks)
	Micros ColumnKind = "micros" // BIGINT, UTC microseconds
)

// Op is one operation on one type.
type Op struct {
	Name      string
	On        *Type
	Declared  *Type  // the type that lists it
	Validator string // attribute that reports whether it may run, such as IsDeletable; may be empty
	Effect    Effect
	// Needs are the required to-one relations of the asset that the operation creates. Their
	// target must not be deleted, or in a deleted project.
	Needs []*Attr
}

// Retires reports whether the operation closes or deletes the asset.
func (o *Op) Retires() bool { return o.Effect.To >= StateClosed }

// Repeats reports whether the operation would change nothing, because the asset already has the
// state to which the operation leads. code is the state of the asset. This applies only to
// operations that open or close assets. Existing clients run such operations without a check. Spec:
// docs/interface.md, section 3.2.
func (o *Op) Repeats(code int) bool {
	return code == o.Effect.To && code < StateDead && o.Effect.Code == "" && !o.Effect.Back
}

// Effect is what an operation does, as data. Code in package asset does what data cannot express.
type Effect struct {
	From    []int             // states in which it may run; empty: any state below StateDeleted
	Offered []int             // states in which the validator is true; empty: those in From
	To      int               // the new AssetState; -1 for no change, or with Back
	Back    bool              // the new AssetState is the one before the asset was deleted
	When    string            // a filter that the asset must match, for any caller; empty: none
	Set     map[string]string // attributes that the operation sets, such as State: "State:101"
	Code    string            // name of the Go implementation; empty for a pure state change
	Result  string            // type of the new asset that the operation returns; empty: it returns the asset itself
	Args    []string          // names of its arguments
}

// Instance is one well-known asset, inserted into a new database.
type Instance struct {
	Type  *Type
	ID    int64
	Attrs map[string]string // by attribute name; relations as Oid tokens, dates as ISO text
}

// Type returns the type with exactly this name.
func (m *Model) Type(name string) (*Type, bool) { t, ok := m.types[name]; return t, ok }

// TypeByCode returns the type with the stored code.
func (m *Model) TypeByCode(code int) (*Type, bool) { t, ok := m.codes[code]; return t, ok }

// LinkByCode returns the forward attribute (on its declaring type) of the link relation with
// the stored code.
func (m *Model) LinkByCode(code int) (*Attr, bool) { a, ok := m.links[code]; return a, ok }

// Attr returns the attribute with exactly this name, own or inherited.
func (t *Type) Attr(name string) (*Attr, bool) { a, ok := t.attrs[name]; return a, ok }

// Op returns the operation with exactly this name, own or inherited.
func (t *Type) Op(name string) (*Op, bool) { o, ok := t.ops[name]; return o, ok }

// IsA reports whether t is other or a type below it.
func (t *Type) IsA(other *Type) bool {
	for ; t != nil; t = t.Parent {
		if t == other {
			return true
		}
	}
	return false
}

// IsOneOf reports whether names has the name of t or of a type above it.
func (t *Type) IsOneOf(names []string) bool {
	for ; t != nil; t = t.Parent {
		if slices.Contains(names, t.Name) {
			return true
		}
	}
	return false
}

// IsOfProjects reports whether assets of the type belong to a project or are seen through other
// assets. It is false for projects, members, lists and all else that belongs to the whole system.
func (t *Type) IsOfProjects() bool {
	return t.Secured.Via != "" || !t.Seen.IsZero() && !t.Seen.Shared
}

// IsReadWith reports whether an access token that is limited to some types reads assets of t. Such a
// token reads what belongs to no project. nil: all types.
func (t *Type) IsReadWith(types []string) bool {
	return types == nil || !t.IsOfProjects() || t.IsOneOf(types)
}

// Ancestors returns t and every type above it, nearest first.
func (t *Type) Ancestors() []*Type {
	var all []*Type
	for ; t != nil; t = t.Parent {
		all = append(all, t)
	}
	return all
}

// Stored returns the stored id of the asset with the Oid t:shown.
func (t *Type) Stored(shown int64) int64 { return shown + t.IDBase }

// Shown returns the number in the Oid of the asset of this type with the stored id.
func (t *Type) Shown(id int64) int64 { return id - t.IDBase }
