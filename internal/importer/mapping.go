package importer

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Mapping says what becomes of the columns of a file. docs/import.md describes its
// form, which is YAML or JSON.
type Mapping struct {
	Separator  string           `yaml:"separator"`
	Key        keyRule          `yaml:"key"`
	Type       rule             `yaml:"type"`
	Project    projectRule      `yaml:"project"`
	Attributes map[string]rules `yaml:"attributes"`
	Comments   *rule            `yaml:"comments"`

	asIs bool // columns are attributes: there is no mapping
}

// keyRule says which column has the key of a record, and which attribute keeps it.
type keyRule struct {
	Column    string `yaml:"column"`
	Alias     string `yaml:"alias"` // a second column by whose values links may name the record
	Attribute string `yaml:"attribute"`
}

// projectRule says which column names the project, which is made where it is missing.
type projectRule struct {
	Column    columns `yaml:"column"`
	Separator string  `yaml:"separator"` // between a project and one below it
}

// rule says what becomes of the values of columns.
type rule struct {
	Column  columns        `yaml:"column"`  // the first of them that has values
	All     bool           `yaml:"all"`     // the values of all columns
	Values  map[string]any `yaml:"values"`  // what stands in the place of a value; null: nothing
	Others  any            `yaml:"others"`  // what stands in the place of values that Values does not have; absent: themselves
	Default any            `yaml:"default"` // where there is no value
	Split   string         `yaml:"split"`   // separates several values in one
	Date    []string       `yaml:"date"`    // forms of a date, of which the first that fits is taken
	Zone    string         `yaml:"zone"`    // where a date has no zone of its own
	Text    bool           `yaml:"text"`    // plain text, for an attribute that has HTML
	Key     bool           `yaml:"key"`     // values are keys of other records
	Later   bool           `yaml:"later"`   // with key: set when all records are there
	Unknown string         `yaml:"unknown"` // of names and keys that nothing has: reject, leave out, create
	Create  map[string]any `yaml:"create"`  // attributes of what is created; $value is the name
	For     []string       `yaml:"for"`     // asset types; empty: all

	zone *time.Location
}

const (
	leaveOut = "leave out"
	create   = "create"
)

// rules are those of one attribute, the first that is for the type counts.
type rules []rule

// columns is a name or a list of them.
type columns []string

// UnmarshalYAML reads a name or a list.
func (c *columns) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*c = columns{n.Value}
		return nil
	}
	return n.Decode((*[]string)(c))
}

// UnmarshalYAML reads a column, a rule or a list of rules.
func (r *rules) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]rule)(r))
	}
	var one rule
	err := n.Decode(&one)
	*r = rules{one}
	return err
}

// UnmarshalYAML reads a column or a rule.
func (r *rule) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		r.Column = columns{n.Value}
		return nil
	}
	type plain rule // without this method
	return knownFields(n, (*plain)(r))
}

// UnmarshalYAML reads a column or a rule.
func (k *keyRule) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		k.Column = n.Value
		return nil
	}
	type plain keyRule
	return knownFields(n, (*plain)(k))
}

// UnmarshalYAML reads a column or a rule.
func (p *projectRule) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		p.Column = columns{n.Value}
		return nil
	}
	type plain projectRule
	return knownFields(n, (*plain)(p))
}

// knownFields decodes a node and refuses keys that into does not have, which
// decoding a node does not.
func knownFields(n *yaml.Node, into any) error {
	if err := n.Decode(into); err != nil {
		return err
	}
	known := map[string]bool{"<<": true}
	for field := range reflect.TypeOf(into).Elem().Fields() {
		known[field.Tag.Get("yaml")] = true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !known[key.Value] {
			return fmt.Errorf("line %d: unknown key %s", key.Line, key.Value)
		}
	}
	return nil
}

//go:embed jira.yaml
var builtIn embed.FS

// DefaultMapping is what a format means without a mapping file: for jira the columns
// of its exports, else columns that are attributes.
func DefaultMapping(format string) (Mapping, error) {
	if format != "jira" {
		m := Mapping{asIs: true, Type: rule{Column: columns{"AssetType"}}}
		return m, m.complete()
	}
	f, err := builtIn.Open("jira.yaml")
	if err != nil {
		return Mapping{}, err
	}
	defer f.Close()
	return ReadMapping(f)
}

// ReadMapping reads a mapping. Errors: one that says what is wrong with it, and where.
func ReadMapping(r io.Reader) (Mapping, error) {
	var m Mapping
	d := yaml.NewDecoder(r)
	d.KnownFields(true)
	if err := d.Decode(&m); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return m, fmt.Errorf("the mapping: %w", err)
	}
	if err := m.complete(); err != nil {
		return m, fmt.Errorf("the mapping: %w", err)
	}
	return m, nil
}

// complete checks the rules and sets what is left out.
func (m *Mapping) complete() error {
	if m.Separator == "" {
		m.Separator = ","
	}
	if len([]rune(m.Separator)) != 1 {
		return fmt.Errorf("separator must be one character, not %q", m.Separator)
	}
	if m.Key.Attribute == "" {
		m.Key.Attribute = "Reference"
	}
	if m.Key.Column == "" && m.asIs {
		m.Key.Column = m.Key.Attribute
	}
	if m.Key.Column == "" {
		return errors.New("key must name the column with the key of each record")
	}
	if len(m.Type.Column) == 0 && m.Type.Default == nil {
		return errors.New("type must say which asset type a record becomes: {column: …} or {default: Story}")
	}
	if m.Comments != nil {
		if m.Comments.Unknown == "" {
			m.Comments.Unknown = leaveOut
		}
		if err := m.Comments.complete(); err != nil {
			return fmt.Errorf("comments: %w", err)
		}
	}
	for name, rs := range m.Attributes {
		for i := range rs {
			if err := rs[i].complete(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func (r *rule) complete() error {
	var err error
	if r.zone, err = time.LoadLocation(r.Zone); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "reject", leaveOut, create}, r.Unknown) {
		return fmt.Errorf("unknown must be reject, %s or %s, not %s", leaveOut, create, r.Unknown)
	}
	if r.Key && r.Unknown == create {
		return errors.New("a rule with `key: true` cannot have `unknown: create`")
	}
	return nil
}

// of returns the rule of an attribute for a type, nil where there is none.
func (rs rules) of(typ string) *rule {
	for i := range rs {
		if len(rs[i].For) == 0 || slices.Contains(rs[i].For, typ) {
			return &rs[i]
		}
	}
	return nil
}
