package meta

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// file is the content of model.yaml. Maps whose order matters are kept as YAML nodes.
type file struct {
	Columns    yaml.Node `yaml:"columns"`
	Operations yaml.Node `yaml:"operations"`
	System     yaml.Node `yaml:"system"`
	Types      yaml.Node `yaml:"types"`
	Instances  yaml.Node `yaml:"instances"`
}

// fileType is one entry of types.
type fileType struct {
	Code        int             `yaml:"code"`
	IDBase      int64           `yaml:"idBase"`
	Parent      string          `yaml:"parent"`
	Display     yaml.Node       `yaml:"display"`
	Number      string          `yaml:"number"`
	Rank        string          `yaml:"rank"`
	Secured     string          `yaml:"secured"`
	Seen        fileSeen        `yaml:"seen"`
	Follows     fileFollows     `yaml:"follows"`
	StateFrom   fileStates      `yaml:"stateFrom"`
	Period      filePeriod      `yaml:"period"`
	Protected   *[]string       `yaml:"protected"`
	PartOf      filePartOf      `yaml:"partOf"`
	Sealed      string          `yaml:"sealed"`
	Defaults    fileDefaults    `yaml:"defaults"`
	Resolve     []string        `yaml:"resolve"`
	Basic       []string        `yaml:"basic"`
	Hierarchies []fileHierarchy `yaml:"hierarchies"`
	Metadata    bool            `yaml:"metadata"`
	Fixed       bool            `yaml:"fixed"`
	Ops         []string        `yaml:"ops"`
	Attributes  yaml.Node       `yaml:"attributes"`

	line    int  // line of the entry
	retired bool // a retired custom list
}

type fileSeen struct {
	Shared  bool     `yaml:"shared"`
	Only    []string `yaml:"only"`
	By      []string `yaml:"by"`
	Through []string `yaml:"through"`
}

type fileFollows struct {
	Relation   string   `yaml:"relation"`
	Attributes []string `yaml:"attributes"`
}

type fileStates struct {
	Attribute string         `yaml:"attribute"`
	States    map[string]int `yaml:"states"`
}

type filePeriod struct {
	Begin string `yaml:"begin"`
	End   string `yaml:"end"`
}

type filePartOf struct {
	Relation string   `yaml:"relation"`
	Ops      []string `yaml:"ops"`
}

type fileDefaults struct {
	OrderBy     string `yaml:"orderBy"`
	DisplayBy   string `yaml:"displayBy"`
	Short       string `yaml:"short"`
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

type fileHierarchy struct {
	Up   string `yaml:"up"`
	Down string `yaml:"down"`
}

// fileAttr is one entry of attributes. A nil flag is not set in the file.
type fileAttr struct {
	Is       Kind     `yaml:"is"`
	To       string   `yaml:"to"`
	Only     []string `yaml:"only"`
	Also     []string `yaml:"also"`
	Takes    []string `yaml:"takes"`
	Many     bool     `yaml:"many"`
	Back     string   `yaml:"back"`
	Column   string   `yaml:"column"`
	Link     int      `yaml:"link"`
	Values   int      `yaml:"values"`
	Calc     string   `yaml:"calc"`
	System   bool     `yaml:"system"`
	Override bool     `yaml:"override"`
	DateOnly bool     `yaml:"dateOnly"`
	UTC      bool     `yaml:"utc"`
	ReadOnly *bool    `yaml:"readonly"`
	Required *bool    `yaml:"required"`
	Default  string   `yaml:"default"`

	Range []float64 `yaml:"range"`
}

// fileOp is one entry of operations.
type fileOp struct {
	Validator *string           `yaml:"validator"`
	From      []int             `yaml:"from"`
	Offered   []int             `yaml:"offered"`
	To        *int              `yaml:"to"`
	Back      bool              `yaml:"back"`
	When      string            `yaml:"when"`
	Set       map[string]string `yaml:"set"`
	Code      string            `yaml:"code"`
	Result    string            `yaml:"result"`
	Args      []string          `yaml:"args"`
}

// entry is one key of a mapping with its value.
type entry struct {
	key  string
	node *yaml.Node
	line int
}

// entries returns the entries of a mapping in the order of the file. A missing mapping has no
// entries. Errors: a key appears twice.
func entries(n *yaml.Node) ([]entry, error) {
	if n.Kind == 0 {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, at(n.Line, "a map is expected")
	}
	var all []entry
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return nil, at(key.Line, "%s occurs twice", key.Value)
		}
		seen[key.Value] = true
		all = append(all, entry{key.Value, n.Content[i+1], key.Line})
	}
	return all, nil
}

// decode reads a mapping into a struct, to which the parameter into points. It refuses keys that
// the struct does not have.
func decode(n *yaml.Node, into any) error {
	if err := checkKeys(n, reflect.TypeOf(into).Elem()); err != nil {
		return err
	}
	if err := n.Decode(into); err != nil {
		return at(n.Line, "%w", err)
	}
	return nil
}

var nodeType = reflect.TypeFor[yaml.Node]()

// checkKeys refuses keys of n that have no field in the struct t, at all levels. Fields that
// are nodes are checked when they are read.
func checkKeys(n *yaml.Node, t reflect.Type) error {
	switch {
	case t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			if err := checkKeys(item, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	case t.Kind() != reflect.Struct || t == nodeType:
		return nil
	}
	all, err := entries(n)
	if err != nil {
		return err
	}
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		fields[f.Tag.Get("yaml")] = f.Type
	}
	for _, e := range all {
		field, ok := fields[e.key]
		if !ok {
			return at(e.line, "unknown key %s", e.key)
		}
		if err := checkKeys(e.node, field); err != nil {
			return err
		}
	}
	return nil
}

// decodeAttr reads "Text" as well as "{is: Text}".
func decodeAttr(n *yaml.Node) (fileAttr, error) {
	if n.Kind == yaml.ScalarNode {
		return fileAttr{Is: Kind(n.Value)}, nil
	}
	var fa fileAttr
	err := decode(n, &fa)
	return fa, err
}

// This function returns an error that begins with a line number of model.yaml.
func at(line int, format string, args ...any) error {
	return fmt.Errorf("model.yaml:%d: "+format, append([]any{line}, args...)...)
}
