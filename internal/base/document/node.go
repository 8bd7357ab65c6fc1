package document

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

var kindNames = [...]string{"null", "boolean", "number", "string", "array", "object"}

// String returns the kind in the words of JSON, for messages.
func (k Kind) String() string { return kindNames[k] }

// Node is one value of a document.
type Node struct {
	Kind  Kind
	Text  string   // string value, number literal, "true" or "false"; empty for other kinds
	Items []Node   // items of a List, values of a Map
	Keys  []string // keys of a Map, as many as Items, in the order of the text
	At    int      // byte offset of the value; for a quoted string, the offset after the quote

	Written *Written // the spelling of a String in the body; nil if it is equal to Text
}

// Limits of one body. A body that exceeds a limit gets fault.Invalid with a message about this limit.
const (
	MaxDepth    = 100       // nesting of lists and maps
	MaxNodes    = 2_000_000 // values of one body; in XML its elements and attributes
	MaxAttrs    = 16        // attributes of one XML element
	MaxYAML     = 16 << 20  // bytes of a YAML body
	MaxAliased  = 100_000   // values that the aliases of a YAML body repeat
	MaxRepeated = 8 << 20   // bytes of the texts that the aliases of a YAML body repeat
	// maxIndicators limits the indicator characters of a YAML body, and therefore the memory of
	// the YAML parser.
	maxIndicators = 2_000_000
	// maxDirectives limits the lines of a YAML body that begin with %, because the YAML parser
	// compares each of these lines with all others.
	maxDirectives = 16
	indexedMap    = 16 // number of keys from which on an index is used to find repeated keys of a map
)

// Get returns the value of a key. Upper and lower case differ.
func (n *Node) Get(key string) (*Node, bool) {
	for i, k := range n.Keys {
		if k == key {
			return &n.Items[i], true
		}
	}
	return nil, false
}

// IsScalar reports whether the node is neither a List nor a Map.
func (n *Node) IsScalar() bool { return n.Kind < List }

// arena copies small slices into large blocks, so that a body of a million values needs only a few
// hundred allocations.
type arena[T any] struct{ block []T }

func (a *arena[T]) copy(items []T) []T {
	n := len(items)
	if n == 0 {
		return nil
	}
	if cap(a.block)-len(a.block) < n {
		a.block = make([]T, 0, max(n, min(2*cap(a.block)+64, 8192)))
	}
	start := len(a.block)
	a.block = append(a.block, items...)
	return a.block[start:len(a.block):len(a.block)]
}

// builder collects the children of nodes that are not complete yet. nodes and keys are stacks.
type builder struct {
	nodes     []Node
	keys      []string
	nodeArena arena[Node]
	keyArena  arena[string]
	count     int
}

func (b *builder) close(kind Kind, at, firstNode, firstKey int) Node {
	n := Node{Kind: kind, At: at, Items: b.nodeArena.copy(b.nodes[firstNode:]), Keys: b.keyArena.copy(b.keys[firstKey:])}
	b.nodes, b.keys = b.nodes[:firstNode], b.keys[:firstKey]
	return n
}
