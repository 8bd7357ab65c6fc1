package meta

import "slices"

// Model is all of model.yaml, resolved. It is immutable and safe for
// concurrent use.
type Model struct {
	Types     []*Type    // in the order of the file; a parent stands before its children
	Columns   []Column   // the typed columns that attributes share; Place.Slot indexes it
	Instances []Instance // well-known assets, in the order of the file
	Rights    *Rights    // who may do what; nil in a model read by Load

	source *source // what it was made of

	types map[string]*Type
	codes map[int]*Type
	links map[int]*Attr // forward attribute of each link relation, by Place.Code
}

// Type is one asset type.
type Type struct {
	Name     string
	Code     int     // stored in asset.type; never changes, never reused
	IDBase   int64   // added to an Oid's number to give the stored id; 0 but for types whose well-known numbers meet another type's
	Parent   *Type   // nil for a root
	Abstract bool    // has child types, so no instances
	Children []*Type // direct
	Concrete []*Type // the leaf types below, itself when it is a leaf; file order

	DisplayNames map[string]string // by methodology (XP, Scrum, AgileUP, DSDM); Scrum is always there, but for a custom list without one
	NumberPrefix string            // "S-"; empty when the type has no Number
	RankSpace    string            // types with the same word are ranked together; its own name when the file names none

	Custom     bool  // added by an administrator: a list
	Retired    bool  // such a list, out of use: its assets remain, and no name leads to it
	Emptied    bool  // such a list, deleted with its data: its assets hold nothing, or soon will
	Definition int64 // stored id of the AssetType that defines a custom one; 0: the model does

	Fixed     bool       // nobody writes its assets, and all of its attributes are read-only
	Metadata  bool       // describes the model; assets with negative ids are the model's own, and written by nobody
	Secured   Secured    // where the SecurityScope of its assets comes from
	Seen      Seen       // who sees its assets, where that does not say it
	Follows   Follows    // attributes kept equal to those of a related asset
	StateFrom StateFrom  // AssetState that goes with the value of an attribute
	Period    Period     // two days in order
	Protected *Protected // its well-known assets, when they are protected; else nil
	PartOf    PartOf     // the asset that each of its assets belongs to
	Sealed    *Attr      // the back of a relation: what any asset, a deleted one too, names by it changes no more; nil: none
	Rights    TypeRights // who may write its assets

	Kept        []*Attr     // retired custom attributes, own and inherited: their values remain, and nothing can name them
	Attrs       []*Attr     // own and inherited, in order of declaration from the root down
	Ops         []*Op       // own and inherited
	Hierarchies []Hierarchy // own and inherited

	OrderBy, DisplayBy, ShortName, NameAttr, Description string   // attribute names; empty when the type has none
	ResolveBy                                            []string // attributes a name is looked up in, such as Name, Number
	Basic                                                []*Attr  // what a read without sel returns (domain: default attribute sets)

	attrs    map[string]*Attr
	partials map[string]*Partial
	ops      map[string]*Op
}

// Secured tells where the SecurityScope (column scope_id) of an asset comes
// from. The zero value: it has none, and everyone sees it.
type Secured struct {
	Self bool   // it is the asset itself
	Via  string // to-one attribute; the SecurityScope of the asset it names, so for Scope that asset itself
}

// Follows says that Attributes always have the values they have on the asset
// that the to-one attribute Relation names. The zero value: none do.
type Follows struct {
	Relation   string
	Attributes []string
}

// StateFrom says which AssetState goes with a value of Attribute, by Oid
// token. The zero value: none.
type StateFrom struct {
	Attribute string
	States    map[string]int
}

// Period names the two dates of a type of which the second is never before the
// first. The zero value: it has none.
type Period struct{ Begin, End string }

// Protected are the well-known assets of a type: they are never closed or deleted,
// and the values of Attributes never change.
type Protected struct {
	Attributes []string
	IDs        []int64 // stored ids, ascending
}

// IsProtected reports whether the asset stored as id is a protected one.
func (t *Type) IsProtected(id int64) bool {
	if t.Protected == nil {
		return false
	}
	_, found := slices.BinarySearch(t.Protected.IDs, id)
	return found
}

// PartOf says that assets belong to the one that the to-one attribute Relation
// names, and that the operations Ops on that one run on them, too. The zero
// value: they belong to none.
type PartOf struct {
	Relation string
	Ops      []string
}

// Hierarchy is a tree that a to-one attribute makes, as its declaring type
// sees it. Six closures follow from it.
type Hierarchy struct {
	Up, Down *Attr // such as Workitem.Super and Workitem.Subs
}

// Kind is the attribute type as metadata spells it (a closed set that existing
// clients parse).
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

// Attr is one attribute definition as seen on one type.
type Attr struct {
	Name     string
	On       *Type // the type whose token this is: On.Name + "." + Name
	Declared *Type // the type that declares (or overrides) it
	Kind     Kind
	DateOnly bool  // Kind Date without a time of day: printed 2016-06-19
	UTC      bool  // Kind Date printed with seven digits and Z
	Related  *Type // Kind Relation: the type it points to; what metadata says
	Multi    bool

	// Targets are the concrete types that a value may have, where those are not
	// all of Related and nothing else; see Takes.
	Targets []*Type
	// Among are the types that give Targets, in the order in which a name is
	// looked up in them; nil where that is Related alone.
	Among []*Type

	ReadOnly, Required, Canned, Custom bool

	Retired    bool   // a custom one out of use; only in Type.Kept
	Definition int64  // stored id of the row that defines a custom one; 0: the model does
	Display    string // what people read of a custom one; empty for all others

	Default string // value of a new asset that names none; empty, a value, "@caller" (the acting member) or "@now"
	Range   *Range // what may be written to a Numeric; nil: any number

	Back  *Attr // the reciprocal on Related, nil when there is none
	Place Place
}

// Range is the lowest and the highest number that may be written. What is stored already
// may lie outside.
type Range struct{ Low, High float64 }

// InRange reports whether a value may be written as far as the range says.
func (a *Attr) InRange(v any) bool {
	x, ok := v.(float64)
	return a.Range == nil || !ok || x >= a.Range.Low && x <= a.Range.High
}

// Token returns the definition's token, such as "Story.Name".
func (a *Attr) Token() string { return a.On.Name + "." + a.Name }

// Takes reports whether an asset of the concrete type t may be a value of the
// relation.
func (a *Attr) Takes(t *Type) bool {
	if a.Targets != nil {
		return slices.Contains(a.Targets, t)
	}
	return t.IsA(a.Related)
}

// Reaches reports whether a value of the relation may be a t, or an asset of a
// type below it.
func (a *Attr) Reaches(t *Type) bool { return slices.ContainsFunc(t.Concrete, a.Takes) }

// TargetTypes returns the concrete types a value of the relation may have.
func (a *Attr) TargetTypes() []*Type {
	if a.Targets != nil {
		return a.Targets
	}
	return a.Related.Concrete
}

// Unset is what a Boolean reads as where nothing was written.
func (a *Attr) Unset() bool { return a.Default == "true" }

// ToOne reports whether the attribute is a relation to at most one asset.
func (a *Attr) ToOne() bool { return a.Kind == Relation && !a.Multi }

// ToMany reports whether the attribute is a relation to any number of assets.
func (a *Attr) ToMany() bool { return a.Kind == Relation && a.Multi }

// PlaceKind says where the value of an attribute lies.
type PlaceKind uint8

// The places. Stored: InColumn, InAttrs, InValues, InLinks. The others are
// derived from what is stored.
const (
	// InColumn: asset.<Column>; a to-one relation holds the id of the target.
	InColumn PlaceKind = iota + 1
	// InAttrs: the key <Column> of the JSON object asset.attrs. Text, LongText,
	// Guid, Duration and LocalizerTag are strings; Numeric, Rank, State and
	// LongInt numbers; Boolean true or false; Date the UTC microseconds as a
	// number; Blob the reference of a content (package blob). Null values are left
	// out, never stored.
	InAttrs
	// InValues: rows of asset_value with attribute = Code (multi-value scalars).
	InValues
	// InLinks: rows of asset_link with relation = Code and from_id = this asset.
	// To-one relations that have no column lie here too, with at most one row.
	InLinks
	// InLinksBack: the same rows seen from to_id; Back holds the forward attribute.
	InLinksBack
	// Reverse: the assets whose column attribute Back points here; to-many.
	Reverse
	// Closure: generated from a hierarchy; see Place.Closure.
	Closure
	// Calc: the query-language expression Place.Expr, evaluated on this asset: a
	// filter for a Boolean, a selection token for everything else.
	Calc
	// System: computed by the engines under its own name, in Place.Expr (ID,
	// Moment, CreateDate, IsSelf, ...). See model.yaml "system".
	System
	// Validator: Boolean, true when operation Place.Expr may run on the asset now and
	// the caller has the right to run it.
	Validator
	// Secret: Password; written to the credential, never read.
	Secret
)

// Place is where an attribute's value lies.
type Place struct {
	Kind    PlaceKind
	Column  string // InColumn: column name; InAttrs: JSON key
	Slot    int    // InColumn: index into Model.Columns, or -1 for the fixed columns (type, state, moment, ...)
	Code    int    // InLinks, InLinksBack: relation code; InValues: attribute code
	Expr    string // Calc, System, Validator
	Closure ClosureOf
}

// ClosureOf tells how a generated closure follows its hierarchy.
type ClosureOf struct {
	Up         *Attr // the to-one attribute of the hierarchy, such as Scope.Parent
	Down       bool  // follows the hierarchy towards the leaves
	Me         bool  // includes the asset itself
	Transitive bool  // all levels, not only the next
}

// Column is one typed column of the tables asset and asset_version. A null is
// an absent value.
type Column struct {
	Name string
	Kind ColumnKind
}

// ColumnKind is how a column stores its values.
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

// Op is one operation as seen on one type.
type Op struct {
	Name      string
	On        *Type
	Declared  *Type  // the type that lists it
	Validator string // attribute that says whether it may run, such as IsDeletable; may be empty
	Effect    Effect
	// Needs are the relations to one asset that the asset it makes must have,
	// too: on none of them may the asset be deleted, or lie in a deleted project.
	Needs []*Attr
}

// Retires reports whether the operation closes or deletes the asset.
func (o *Op) Retires() bool { return o.Effect.To >= StateClosed }

// Repeats reports whether the operation changes nothing of an asset in a state: it only
// opens or closes assets, and the asset is where it would take it. Existing clients run
// such operations without looking first. Spec: interface 3.2.
func (o *Op) Repeats(code int) bool {
	return code == o.Effect.To && code < StateDead && o.Effect.Code == "" && !o.Effect.Back
}

// Effect is what an operation does, as data. An operation with only Name set
// is carried out by code of that name in the write engine.
type Effect struct {
	From    []int             // states it may run in; empty: any state below StateDeleted
	Offered []int             // states in which the validator is true; empty: those of From
	To      int               // the new AssetState; -1 when it does not change it, or Back says which
	Back    bool              // the new AssetState is the one before the asset was deleted
	When    string            // a filter that the asset must satisfy, whoever asks; empty: none
	Set     map[string]string // attributes set, such as State: "State:101"
	Code    string            // name of the Go implementation, empty for a pure state change
	Result  string            // asset type of the new asset the operation answers with, empty: the asset itself
	Args    []string          // names of its arguments
}

// Instance is one well-known asset, inserted when the database is new.
type Instance struct {
	Type  *Type
	ID    int64
	Attrs map[string]string // by attribute name; relations as Oid tokens, dates as ISO text
}

// Type returns the type named exactly name.
func (m *Model) Type(name string) (*Type, bool) { t, ok := m.types[name]; return t, ok }

// TypeByCode returns the type stored as code.
func (m *Model) TypeByCode(code int) (*Type, bool) { t, ok := m.codes[code]; return t, ok }

// LinkByCode returns the forward attribute (on its declaring type) of the link
// relation stored as code.
func (m *Model) LinkByCode(code int) (*Attr, bool) { a, ok := m.links[code]; return a, ok }

// Attr returns the attribute named exactly name, inherited ones included.
func (t *Type) Attr(name string) (*Attr, bool) { a, ok := t.attrs[name]; return a, ok }

// Op returns the operation named exactly name, inherited ones included.
func (t *Type) Op(name string) (*Op, bool) { o, ok := t.ops[name]; return o, ok }

// IsA reports whether t is other or stands below it.
func (t *Type) IsA(other *Type) bool {
	for ; t != nil; t = t.Parent {
		if t == other {
			return true
		}
	}
	return false
}

// Ancestors returns t and every type above it, nearest first.
func (t *Type) Ancestors() []*Type {
	var all []*Type
	for ; t != nil; t = t.Parent {
		all = append(all, t)
	}
	return all
}

// Stored returns the id under which the asset shown as t:shown is stored.
func (t *Type) Stored(shown int64) int64 { return shown + t.IDBase }

// Shown returns the number in the Oid of the asset of this type stored as id.
func (t *Type) Shown(id int64) int64 { return id - t.IDBase }
