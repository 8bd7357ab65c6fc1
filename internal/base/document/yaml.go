package document

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/base/fault"
)

type yamlParser struct {
	builder
	offsets  offsets
	aliased  int // number of values that aliases repeat
	repeated int // bytes of texts that aliases repeat
}

// ownPlace is used as the place of an alias if a node is not below an alias.
const ownPlace = -1

func parseYAML(body []byte, skip int) ([]Node, error) {
	if len(body) > MaxYAML {
		return nil, fault.Invalidf(0, "A YAML body may have %d bytes at most; send JSON.", MaxYAML)
	}
	marks := 0
	for _, c := range []byte(",:-[{?") {
		marks += bytes.Count(body, []byte{c})
	}
	if marks > maxIndicators {
		return nil, fault.Invalidf(0, "The YAML body has too many values; send JSON.")
	}
	if directives(body) > maxDirectives {
		return nil, fault.Invalidf(0, "The YAML body has more than %d directives.", maxDirectives)
	}
	p := &yamlParser{offsets: newOffsets(body, skip)}
	dec := yaml.NewDecoder(bytes.NewReader(body[skip:]))
	var all []Node
	for {
		var d yaml.Node
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, p.fail(err)
		}
		if isEmpty(&d) {
			continue
		}
		n, err := p.value(d.Content[0], 0, ownPlace)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, fault.Invalidf(0, "The body is empty.")
	}
	return all, nil
}

// directives counts the lines that begin with %, after any line break of the parser.
func directives(body []byte) (count int) {
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		count += bytes.Count(body, []byte(lineBreak+"%"))
	}
	return count
}

// isEmpty reports whether nothing is between the marks of the document.
func isEmpty(d *yaml.Node) bool {
	return len(d.Content) == 0 || d.Content[0].Kind == yaml.ScalarNode && d.Content[0].ShortTag() == "!!null" && d.Content[0].Value == ""
}

// value converts a node. at is the offset of the alias that repeats the node, or ownPlace.
func (p *yamlParser) value(y *yaml.Node, depth, at int) (Node, error) {
	place := at
	if place == ownPlace {
		place = p.offsets.of(y)
	} else if p.aliased++; p.aliased > MaxAliased {
		return Node{}, fault.Invalidf(place, "The aliases of the body stand for more than %d values.", MaxAliased)
	}
	if p.count++; p.count > MaxNodes {
		return Node{}, tooMany(place)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if depth == MaxDepth { // the alias is inside its own anchor, and would be repeated without end
			return Node{}, tooDeep(place)
		}
		return p.value(y.Alias, depth+1, place)
	case yaml.ScalarNode:
		if at != ownPlace {
			if p.repeated += len(y.Value); p.repeated > MaxRepeated {
				return Node{}, fault.Invalidf(place, "The aliases of the body stand for more than %d bytes.", MaxRepeated)
			}
		}
		return p.scalar(y, place, at == ownPlace), nil
	}
	if depth == MaxDepth {
		return Node{}, tooDeep(place)
	}
	if y.Kind == yaml.SequenceNode {
		return p.list(y, depth, at, place)
	}
	return p.mapping(y, depth, at, place)
}

func (p *yamlParser) list(y *yaml.Node, depth, at, place int) (Node, error) {
	firstNode, firstKey := len(p.nodes), len(p.keys)
	for _, c := range y.Content {
		n, err := p.value(c, depth+1, at)
		if err != nil {
			return Node{}, err
		}
		p.nodes = append(p.nodes, n)
	}
	return p.close(List, place, firstNode, firstKey), nil
}

func (p *yamlParser) mapping(y *yaml.Node, depth, at, place int) (Node, error) {
	firstNode, firstKey := len(p.nodes), len(p.keys)
	seen := keySet{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].ShortTag() == "!!merge" {
			merges = append(merges, y.Content[i+1])
			continue
		}
		key, err := p.key(y.Content[i], at)
		if err != nil {
			return Node{}, err
		}
		if !seen.add(p.keys[firstKey:], key) {
			return Node{}, fault.Invalidf(p.here(y.Content[i], at), "Invalid YAML: the key %q comes twice.", key)
		}
		n, err := p.value(y.Content[i+1], depth+1, at)
		if err != nil {
			return Node{}, err
		}
		p.keys, p.nodes = append(p.keys, key), append(p.nodes, n)
	}
	for _, m := range merges {
		if err := p.merge(m, depth, place, firstKey, &seen); err != nil {
			return Node{}, err
		}
	}
	return p.close(Map, place, firstNode, firstKey), nil
}

// merge adds the keys of the map in "<<: *other", or of the maps in a list. It skips keys that the
// map already has.
func (p *yamlParser) merge(from *yaml.Node, depth, place, firstKey int, seen *keySet) error {
	n, err := p.value(from, depth+1, place)
	if err != nil {
		return err
	}
	maps := []Node{n}
	if n.Kind == List {
		maps = n.Items
	}
	for _, m := range maps {
		if m.Kind != Map {
			return fault.Invalidf(place, "Invalid YAML: << wants a mapping.")
		}
		for i, key := range m.Keys {
			if seen.add(p.keys[firstKey:], key) {
				p.keys, p.nodes = append(p.keys, key), append(p.nodes, m.Items[i])
			}
		}
	}
	return nil
}

func (p *yamlParser) key(y *yaml.Node, at int) (string, error) {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y.Kind != yaml.ScalarNode || y.ShortTag() == "!!null" {
		return "", fault.Invalidf(p.here(y, at), "Invalid YAML: a key must be text.")
	}
	return y.Value, nil
}

func (p *yamlParser) here(y *yaml.Node, at int) int {
	if at != ownPlace {
		return at
	}
	return p.offsets.of(y)
}

// scalar converts a scalar. If own is true, at is the offset of the scalar; otherwise at is the
// offset of the alias that repeats it.
func (p *yamlParser) scalar(y *yaml.Node, at int, own bool) Node {
	quote := quoteOf(y)
	if quote != 0 && own {
		// after a tag or an anchor, the parser does not report the place of the quote
		if own = at < len(p.offsets.body) && p.offsets.body[at] == quote; own {
			at++
		}
	}
	switch y.ShortTag() {
	case "!!null":
		return Node{Kind: Null, At: at}
	case "!!bool":
		if text := strings.ToLower(y.Value); text == "true" || text == "false" {
			return Node{Kind: Bool, Text: text, At: at}
		}
	case "!!int", "!!float":
		if isJSONNumber(y.Value) {
			return Node{Kind: Number, Text: y.Value, At: at}
		}
	}
	n := Node{Kind: String, Text: y.Value, At: at, Written: &Written{}}
	if own {
		n.Written = writtenYAML(p.offsets.body, at, quote, y.Value)
	}
	return n
}

// quoteOf returns the quote around a scalar, or 0.
func quoteOf(y *yaml.Node) byte {
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return '"'
	case y.Style&yaml.SingleQuotedStyle != 0:
		return '\''
	}
	return 0
}

// isJSONNumber matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func isJSONNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, s := digits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		var part string
		if part, s = digits(rest); part == "" {
			return false
		}
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	part, s := digits(s)
	return part != "" && s == ""
}

func digits(s string) (head, tail string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// keySet finds repeated keys. Small maps need no index.
type keySet struct{ index map[string]struct{} }

// add reports whether key is new. keys are the keys so far.
func (k *keySet) add(keys []string, key string) bool {
	if k.index == nil && len(keys) < indexedMap {
		return !slices.Contains(keys, key)
	}
	if k.index == nil {
		k.index = make(map[string]struct{}, 2*len(keys))
		for _, other := range keys {
			k.index[other] = struct{}{}
		}
	}
	if _, there := k.index[key]; there {
		return false
	}
	k.index[key] = struct{}{}
	return true
}
