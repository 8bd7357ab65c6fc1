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

// Mapping says how the columns of a file become an asset. docs/import.md describes its format,
// which is YAML or JSON.
type Mapping struct {
	Separator  string           `yaml:"separator"`
	Key        keyRule          `yaml:"key"`
	Type       rule             `yaml:"type"`
	Project    projectRule      `yaml:"project"`
	Attributes map[string]rules `yaml:"attributes"`
	Comments   *rule            `yaml:"comments"`

	asIs bool // true: there is no mapping, and the columns are attributes
}

// keyRule says which column has the key of a record, and which attribute stores it.
type keyRule struct {
	Column    string `yaml:"column"`
	Alias     string `yaml:"alias"` // a second column; its values are other names of the record, which links may use
	Attribute string `yaml:"attribute"`
}

// projectRule says which column names the project. A missing project is created.
type projectRule struct {
	Column    columns `yaml:"column"`
	Separator string  `yaml:"separator"` // between the names of a path of projects; empty: the value is one name
}

// rule says how the values of columns become the value of an attribute.
type rule struct {
	Column  columns        `yaml:"column"`  // the first of these columns with a value is used
	All     bool           `yaml:"all"`     // use the values of all columns
	Values  map[string]any `yaml:"values"`  // replacements of values; null: no value
	Others  any            `yaml:"others"`  // the replacement of values that are not in Values; nil: they are kept
	Default any            `yaml:"default"` // the value if the columns have no value
	Split   string         `yaml:"split"`   // separator of several values in one value; empty: do not split
	Date    []string       `yaml:"date"`    // formats of a date as for time.Parse; the first that matches is used
	Zone    string         `yaml:"zone"`    // time zone of dates without a zone; empty: UTC
	Text    bool           `yaml:"text"`    // the value is plain text, and the attribute has HTML
	Key     bool           `yaml:"key"`     // the values are keys of other records
	Later   bool           `yaml:"later"`   // with Key: the link is set when all records exist
	Unknown string         `yaml:"unknown"` // if no asset has the name or key: reject, leave out or create
	Create  map[string]any `yaml:"create"`  // attributes of an asset that is created; $value is the name
	For     []string       `yaml:"for"`     // asset types that the rule applies to; empty: all

	zone *time.Location
}

const (
	leaveOut = "leave out"
	create   = "create"
)

// rules are the rules of one attribute. The first rule that applies to the asset type is used.
type rules []rule

// columns are names of columns: in YAML one name or a list.
type columns []string

// UnmarshalYAML reads a name or a list of names.
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
	type plain rule // has no UnmarshalYAML, so decoding does not recurse
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

// knownFields decodes a node into a struct, and refuses keys that the struct does not have.
// Node.Decode ignores such keys.
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

// DefaultMapping returns the mapping for a format if the user gives none. For jira, this is the
// built-in mapping for exports of Jira. For other formats, the columns are attributes.
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

// ReadMapping reads a mapping in YAML or JSON. The error says what is wrong in the mapping.
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

// complete checks the mapping and sets default values.
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

// complete checks the rule and sets its time zone.
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

// of returns the rule for a type, or nil if no rule applies to it.
func (rs rules) of(typ string) *rule {
	for i := range rs {
		if len(rs[i].For) == 0 || slices.Contains(rs[i].For, typ) {
			return &rs[i]
		}
	}
	return nil
}
