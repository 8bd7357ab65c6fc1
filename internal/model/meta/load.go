package meta

import (
	_ "embed"
	"errors"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

//go:embed model.yaml
var modelFile []byte

// Default returns the model of alds. It parses the embedded file every time, so callers keep
// the result. It panics on a broken file, which is a defect of the program.
func Default() *Model {
	s, err := parse(modelFile)
	if err == nil {
		err = s.parseRights(rightsFile)
	}
	if err != nil {
		panic(err)
	}
	m, err := s.load(Custom{}, &loader{})
	if err != nil {
		panic(err)
	}
	return m
}

// load makes a model of the files and of c. l must be a new loader; afterwards it has the entries
// of c that were left out. The files do not change.
// Errors: all defects of the files, joined, each with its line. They have no fault kind.
func (s *source) load(c Custom, l *loader) (*Model, error) {
	*l = loader{
		m:      &Model{source: s, types: map[string]*Type{}, codes: map[int]*Type{}, links: map[int]*Attr{}},
		custom: c,
		slots:  map[string]int{},
		files:  map[*Type]*fileType{},
		own:    map[*Type][]*decl{},
		from:   map[*Attr]*decl{},
		ops:    map[string]fileOp{},
	}
	for _, step := range []func(*source){
		l.columns, l.operations, l.types, l.declare, l.inherit, l.resolve, l.retireAttrs, l.describe, l.fix,
		l.instances, l.lifecycle, l.rights, l.retireTypes, l.partial,
	} {
		if step(s); len(l.errs) > 0 {
			return nil, errors.Join(l.errs...)
		}
	}
	return l.m, nil
}

// rights sets the rights of the model.
func (l *loader) rights(s *source) {
	if s.rights == nil {
		return
	}
	if err := loadRights(l.m, s.rights); err != nil {
		l.fail(err)
	}
}

// loader carries the results of the steps of load. A step runs only if no earlier step has
// failed.
type loader struct {
	m      *Model
	custom Custom              // what administrators have added
	slots  map[string]int      // index of each column in m.Columns, by name
	files  map[*Type]*fileType // types of the file, with inherited properties filled in
	own    map[*Type][]*decl   // declarations of a type, including generated attributes
	from   map[*Attr]*decl     // the declaration of an attribute
	ops    map[string]fileOp   // the operations section
	errs   []error
	left   []*leftOutError // why entries of custom are left out
}

func (l *loader) fail(err error) { l.errs = append(l.errs, err) }

// entries is like the function entries, but records the error.
func (l *loader) entries(n *yaml.Node) []entry {
	all, err := entries(n)
	if err != nil {
		l.fail(err)
	}
	return all
}

// columns reads the columns that attributes of different types share. The index of a column is its
// slot.
func (l *loader) columns(s *source) {
	for i, e := range l.entries(&s.file.Columns) {
		l.slots[e.key] = i
		l.m.Columns = append(l.m.Columns, Column{Name: e.key, Kind: ColumnKind(e.node.Value)})
	}
}

// operations reads the section of operations. Types refer to these operations by name.
func (l *loader) operations(s *source) {
	for _, e := range l.entries(&s.file.Operations) {
		op, err := s.ops.read(e.node, decodeOp)
		if err != nil {
			l.fail(err)
		}
		l.ops[e.key] = op
	}
}

// types makes the tree of types.
func (l *loader) types(s *source) {
	for _, e := range l.entries(&s.file.Types) {
		ft, err := s.types.read(e.node, decodeType)
		if err != nil {
			l.fail(err)
			continue
		}
		l.addType(e, &ft)
	}
	l.customLists()
	for _, t := range l.m.Types {
		if t.Abstract {
			continue
		}
		for _, a := range t.Ancestors() {
			a.Concrete = append(a.Concrete, t)
		}
	}
}

// addType makes one type below its parent. It returns nil on an error.
func (l *loader) addType(e entry, ft *fileType) *Type {
	ft.line = e.line
	t := &Type{Name: e.key, Code: ft.Code, IDBase: ft.IDBase, attrs: map[string]*Attr{}, ops: map[string]*Op{}}
	if other := l.m.codes[t.Code]; other != nil || t.Code == 0 {
		l.fail(at(e.line, "%s: code %d is missing or taken", t.Name, t.Code))
	}
	if ft.Parent != "" {
		parent, ok := l.m.types[ft.Parent]
		if !ok {
			l.fail(at(e.line, "%s: no type %s stands above", t.Name, ft.Parent))
			return nil
		}
		t.Parent, parent.Abstract = parent, true
		parent.Children = append(parent.Children, t)
		ft.inherit(l.files[parent])
	}
	l.m.Types = append(l.m.Types, t)
	l.m.types[t.Name], l.m.codes[t.Code], l.files[t] = t, t, ft
	return t
}

// inherit fills in the properties that a type takes from its parent.
func (ft *fileType) inherit(p *fileType) {
	fill := func(own *string, inherited string) {
		if *own == "" {
			*own = inherited
		}
	}
	fill(&ft.Rank, p.Rank)
	fill(&ft.Secured, p.Secured)
	fill(&ft.Defaults.OrderBy, p.Defaults.OrderBy)
	fill(&ft.Defaults.DisplayBy, p.Defaults.DisplayBy)
	fill(&ft.Defaults.Short, p.Defaults.Short)
	fill(&ft.Defaults.Name, p.Defaults.Name)
	fill(&ft.Defaults.Description, p.Defaults.Description)
	if ft.Resolve == nil {
		ft.Resolve = p.Resolve
	}
	if ft.Follows.Relation == "" {
		ft.Follows = p.Follows
	}
	if ft.StateFrom.Attribute == "" {
		ft.StateFrom = p.StateFrom
	}
	ft.Metadata, ft.Fixed = ft.Metadata || p.Metadata, ft.Fixed || p.Fixed
}

// words splits a type name into words: StoryStatus is "Story Status".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
