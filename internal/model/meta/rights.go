package meta

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed rights.yaml
var rightsFile []byte

// Role is a role by the number in its Oid.
type Role uint8

// The roles with a meaning in the code. The others differ only in their rights.
const (
	NoAccess     Role = 0
	SystemAdmin  Role = 1
	ProjectAdmin Role = 2
	Inheritor    Role = 10 // sees the path to a project, but not its contents
	MemberAdmin  Role = 12
	OtherRole    Role = 15 // a custom role: it may read, but has no right to write
)

// RoleNumbered returns the role with this number in its Oid.
func RoleNumbered(n int64) Role {
	if n < 0 || n > int64(MemberAdmin) {
		return OtherRole
	}
	return Role(n)
}

// Reads reports whether a role reads the contents of its project.
func (r Role) Reads() bool { return r != NoAccess && r != Inheritor }

// RoleSet is a set of roles, one bit each.
type RoleSet uint16

// Has reports whether a role is in the set.
func (s RoleSet) Has(r Role) bool { return s&(1<<r) != 0 }

// RolesOf returns the set of these roles.
func RolesOf(all ...Role) RoleSet {
	var s RoleSet
	for _, r := range all {
		s |= 1 << r
	}
	return s
}

// Verb is a kind of action on an asset that rights distinguish.
type Verb uint8

// The verbs of rights.yaml.
const (
	ToCreate Verb = iota
	ToChange
	ToOperate
	ToDelete
	ToRelate
	ToModerate
	verbs
)

var verbNames = [verbs]string{"create", "change", "operate", "delete", "relate", "moderate"}

// String returns the verb as rights.yaml spells it.
func (v Verb) String() string { return verbNames[v] }

// Rights is the content of rights.yaml, with all names resolved in the model. It is immutable.
type Rights struct {
	Order []Role // highest first
	Names map[Role]string
	Kinds []*RightsKind // in the order of the file
	Self  []string      // attributes of Member that members may change on themselves

	rank map[Role]int
}

// RightsKind is a kind of assets, attributes and operations with common rights.
type RightsKind struct {
	Name   string
	Types  []*Type // concrete
	System bool    // only roles for the whole system count
	Own    bool    // only moderators and the member to whom an asset belongs may change the asset

	allow  [verbs]RoleSet
	except map[string]RoleSet // by attribute or operation: roles whose right excludes it
}

// TypeRights are the rights to the assets of a concrete type.
type TypeRights struct {
	Kind *RightsKind
	Lies *Attr // relation to the assets whose projects this asset belongs to; nil: it belongs to its SecurityScope
	On   *Attr // relation to the asset whose writers may write this asset; nil: this asset has separate rights
	Own  *Attr // relation to the member to whom the asset belongs; nil: it belongs to its creator

	named  map[string]*RightsKind // kinds of attributes and operations that differ from the type's kind
	ofSelf bool                   // members may change some of its attributes on themselves
}

// Roles returns the roles with the right to a verb. name is the attribute or operation, or
// empty for the asset as a whole.
func (k *RightsKind) Roles(v Verb, name string) RoleSet { return k.allow[v] &^ k.except[name] }

// excepts reports whether an attribute or operation is excluded from the right of any role.
func (k *RightsKind) excepts(name string) bool { return k.except[name] != 0 }

// Exceptions returns the attributes and operations that a role's right excludes, sorted.
func (k *RightsKind) Exceptions(role Role) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(k.except)) {
		if k.except[name].Has(role) {
			names = append(names, name)
		}
	}
	return names
}

// KindOf returns the kind of an attribute or operation, or of the type's assets if name is
// empty. It is nil for types that are never written.
func (t *Type) KindOf(name string) *RightsKind {
	if k := t.Rights.named[name]; k != nil {
		return k
	}
	return t.Rights.Kind
}

// RightDiffers reports whether the right depends on the name of the attribute or operation,
// not only on the asset.
func (t *Type) RightDiffers(name string) bool {
	return t.Rights.ofSelf || t.Rights.Kind.excepts(name) || t.Rights.named[name] != nil
}

// Above reports whether role a ranks above role b. OtherRole ranks above no role.
func (r *Rights) Above(a, b Role) bool { return r.rankOf(a) < r.rankOf(b) }

func (r *Rights) rankOf(role Role) int {
	if n, ok := r.rank[role]; ok {
		return n
	}
	return len(r.Order)
}

// Kind returns the kind with this name, or nil.
func (r *Rights) Kind(name string) *RightsKind {
	for _, k := range r.Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// rightsYAML is the content of rights.yaml.
type rightsYAML struct {
	Roles  yaml.Node                      `yaml:"roles"`
	Kinds  yaml.Node                      `yaml:"kinds"`
	Lie    map[string]string              `yaml:"lie"`
	On     map[string]string              `yaml:"on"`
	Own    map[string]string              `yaml:"own"`
	Self   []string                       `yaml:"self"`
	Rights map[string]map[string]verbList `yaml:"rights"`
	Except map[string]map[string][]string `yaml:"except"`
}

type rightsKindYAML struct {
	Types      []string `yaml:"types"`
	Attributes []string `yaml:"attributes"`
	Own        bool     `yaml:"own"`
	System     bool     `yaml:"system"`
}

// verbList is one verb or a list of verbs.
type verbList []string

// UnmarshalYAML reads "all" as well as "[create, change]".
func (l *verbList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = verbList{n.Value}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// rightsLoader resolves the names of rights.yaml.
type rightsLoader struct {
	m     *Model
	r     *Rights
	roles map[string]Role
	errs  []error
}

func (l *rightsLoader) fail(format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("rights.yaml: "+format, args...))
}

// loadRights resolves rights.yaml for the model.
func loadRights(m *Model, f *rightsYAML) error {
	l := &rightsLoader{m: m, roles: map[string]Role{}, r: &Rights{Names: map[Role]string{}, rank: map[Role]int{}, Self: f.Self}}
	l.readRoles(f)
	l.readKinds(f)
	if len(l.errs) == 0 {
		l.grant(f)
		l.relations(f)
		l.complete()
	}
	m.Rights = l.r
	return errors.Join(l.errs...)
}

func (l *rightsLoader) entries(n *yaml.Node) []entry {
	all, err := entries(n)
	if err != nil {
		l.errs = append(l.errs, err)
	}
	return all
}

func (l *rightsLoader) readRoles(f *rightsYAML) {
	for i, e := range l.entries(&f.Roles) {
		var role Role
		if err := e.node.Decode(&role); err != nil || role > 15 {
			l.fail("%s: a number below 16 is expected", e.key)
			continue
		}
		l.roles[e.key], l.r.Names[role], l.r.rank[role] = role, e.key, i
		l.r.Order = append(l.r.Order, role)
	}
}

func (l *rightsLoader) readKinds(f *rightsYAML) {
	for _, e := range l.entries(&f.Kinds) {
		var y rightsKindYAML
		if err := e.node.Decode(&y); err != nil {
			l.fail("%s: %w", e.key, err)
			continue
		}
		k := &RightsKind{Name: e.key, System: y.System, Own: y.Own, except: map[string]RoleSet{}}
		l.r.Kinds = append(l.r.Kinds, k)
		for _, name := range y.Types {
			l.assign(k, name)
		}
		for _, token := range y.Attributes {
			l.assignName(k, token)
		}
	}
}

// assign assigns the assets of a type, and of the types below it, to a kind.
func (l *rightsLoader) assign(k *RightsKind, name string) {
	t, ok := l.m.types[name]
	if !ok {
		l.fail("%s: no type %s", k.Name, name)
		return
	}
	for _, c := range t.Concrete {
		if c.Rights.Kind != nil {
			l.fail("%s is of two kinds, %s and %s", c.Name, c.Rights.Kind.Name, k.Name)
		}
		c.Rights.Kind = k
		k.Types = append(k.Types, c)
	}
}

// assignName assigns an attribute or operation, such as Scope.Members, to a kind.
func (l *rightsLoader) assignName(k *RightsKind, token string) {
	typ, name, _ := strings.Cut(token, ".")
	t := l.m.types[typ]
	if t == nil || t.attrs[name] == nil && t.ops[name] == nil {
		l.fail("%s: no attribute or operation %s", k.Name, token)
		return
	}
	if t.Rights.named == nil {
		t.Rights.named = map[string]*RightsKind{}
	}
	t.Rights.named[name] = k
}

// grant reads the rights of each role.
func (l *rightsLoader) grant(f *rightsYAML) {
	for _, k := range l.r.Kinds {
		for v := range k.allow {
			k.allow[v] |= 1 << SystemAdmin
		}
	}
	for name, kinds := range f.Rights {
		role, known := l.roles[name]
		if !known {
			l.fail("no role %s", name)
		}
		for kind, words := range kinds {
			k := l.r.Kind(kind)
			if k == nil {
				l.fail("%s: no kind %s", name, kind)
				continue
			}
			for _, word := range words {
				l.allow(k, role, word)
			}
		}
	}
	for name, kinds := range f.Except {
		role, known := l.roles[name]
		for kind, tokens := range kinds {
			k := l.r.Kind(kind)
			if k == nil || !known {
				l.fail("except: no role %s or kind %s", name, kind)
				continue
			}
			for _, token := range tokens {
				k.except[token] |= 1 << role
			}
		}
	}
}

func (l *rightsLoader) allow(k *RightsKind, role Role, word string) {
	if word == "all" {
		for v := range ToModerate {
			k.allow[v] |= 1 << role
		}
		return
	}
	v := slices.Index(verbNames[:], word)
	if v < 0 {
		l.fail("%s: no verb %s", k.Name, word)
		return
	}
	k.allow[v] |= 1 << role
}

// relations resolves the sections lie, on, own and self of rights.yaml.
func (l *rightsLoader) relations(f *rightsYAML) {
	for _, part := range []struct {
		names map[string]string
		to    func(*TypeRights) **Attr
	}{
		{f.Lie, func(r *TypeRights) **Attr { return &r.Lies }},
		{f.On, func(r *TypeRights) **Attr { return &r.On }},
		{f.Own, func(r *TypeRights) **Attr { return &r.Own }},
	} {
		for name, relation := range part.names {
			t := l.m.types[name]
			if t == nil || t.attrs[relation] == nil || t.attrs[relation].Kind != Relation {
				l.fail("no relation %s.%s", name, relation)
				continue
			}
			*part.to(&t.Rights) = t.attrs[relation]
		}
	}
	member := l.m.types["Member"]
	for _, name := range f.Self {
		if member == nil || member.attrs[name] == nil {
			l.fail("self: no attribute Member.%s", name)
			continue
		}
		member.Rights.ofSelf = true
	}
}

// complete records an error for each type whose rights are incomplete.
func (l *rightsLoader) complete() {
	for _, t := range l.m.Types {
		if !t.Abstract && t.Rights.Kind == nil {
			l.fail("%s is of no kind", t.Name)
		}
		if lies := t.Rights.Lies; lies != nil && !leadsToScopes(lies, 0) {
			l.fail("%s leads to no project", lies.Token())
		}
		if on := t.Rights.On; on != nil && slices.ContainsFunc(on.TargetTypes(), func(to *Type) bool { return to.Rights.On != nil }) {
			l.fail("%s leads to assets whose rights depend on other assets", on.Token())
		}
	}
}

// maxLies is the maximum number of relations in the path from an asset to its projects.
const maxLies = 3

// leadsToScopes reports whether all targets of a relation have a scope, or are of one type whose
// relation Lies leads to scopes.
func leadsToScopes(a *Attr, depth int) bool {
	to := a.TargetTypes()
	if lies := to[0].Rights.Lies; lies != nil {
		return len(to) == 1 && depth < maxLies && leadsToScopes(lies, depth+1)
	}
	return !slices.ContainsFunc(to, func(t *Type) bool { return t.Secured == Secured{} })
}
