package bulk

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
)

// command is one object of the payload.
type command struct {
	index int
	alias string         // from {"@x": command}; empty: none
	node  *document.Node // without the alias
	kind  kind
	err   error // why the object is not a command; nil if it is a command
}

// config has the settings of the request, from its config commands.
type config struct {
	countsOnly  bool
	atomic      bool
	imports     bool // creates may set the creator and the time of creation
	maxAffected int  // maximum number of assets that one update or operation may affect; 0: any number
}

// decode returns the commands and the settings of a body. Each document is one command or a list
// of commands.
// Errors: fault.Invalid if a document is neither, or if there are more commands than maxCommands.
func decode(docs []document.Node, maxCommands int) ([]command, config, error) {
	var all []command
	var cfg config
	for i := range docs {
		list := docs[i : i+1]
		switch docs[i].Kind {
		case document.List:
			list = docs[i].Items
		case document.Map:
		default:
			return nil, cfg, notACommand(&docs[i])
		}
		if len(all)+len(list) > maxCommands {
			return nil, cfg, tooManyCommands(maxCommands)
		}
		for k := range list {
			c := readCommand(&list[k])
			c.index = len(all)
			if c.kind == kindConfig && c.err == nil {
				c.err = cfg.read(c.node)
			}
			all = append(all, c)
		}
	}
	return all, cfg, nil
}

// readCommand determines the kind of a command, and separates it from its alias.
func readCommand(n *document.Node) command {
	if n.Kind != document.Map {
		return command{node: n, kind: kindQuery, err: notACommand(n)}
	}
	if alias, inner, ok := unwrapAlias(n); ok {
		c := readCommand(inner)
		if c.alias != "" {
			return command{node: n, kind: kindQuery, err: unknownKey(inner.At, "root->"+alias, c.alias)}
		}
		c.alias = alias
		return c
	}
	c := command{node: n}
	c.kind, c.err = kindOf(n)
	return c
}

// unwrapAlias reads {"@x": command}. It ignores the key "error", so that a client can send a
// failed command again exactly as the answer shows it.
func unwrapAlias(n *document.Node) (alias string, inner *document.Node, ok bool) {
	for i, k := range n.Keys {
		switch {
		case strings.HasPrefix(k, "@") && inner == nil && n.Items[i].Kind == document.Map:
			alias, inner = k, &n.Items[i]
		case k == "error":
		default:
			return "", nil, false
		}
	}
	return alias, inner, inner != nil
}

// exclusive has pairs of keys. Only a create may have both keys of a pair, as attributes.
var exclusive = [][2]string{{"update", "execute"}, {"oid", "from"}, {"config", "from"}, {"config", "oid"}}

func kindOf(n *document.Node) (kind, error) {
	has := func(k string) bool { _, ok := n.Get(k); return ok }
	for _, pair := range exclusive {
		if n, ok := n.Get(pair[1]); ok && has(pair[0]) && !has("AssetType") {
			return kindQuery, unknownKey(n.At, "root", pair[1])
		}
	}
	switch {
	case has("AssetType"):
		return kindCreate, nil
	case (has("from") || has("oid")) && has("update"):
		return kindUpdate, ofQueries(n)
	case (has("from") || has("oid")) && has("execute"):
		return kindExecute, ofQueries(n)
	case has("from"):
		return kindQuery, nil
	case has("config"):
		return kindConfig, nil
	}
	return kindQuery, noCommand(n.At)
}

// ofQueries returns an error if an update or operation has a key that is only allowed in a query.
func ofQueries(n *document.Node) error {
	for i, k := range n.Keys {
		switch k {
		case "select", "group", "total", "explain", "asof":
			return unknownKey(n.Items[i].At, "root", k)
		}
	}
	return nil
}

// read reads a config command: {"config": x}, where x is a name, a list of names, or a map of
// names and values.
func (c *config) read(n *document.Node) error {
	for i, k := range n.Keys {
		if k != "config" {
			return unknownKey(n.Items[i].At, "root", k)
		}
	}
	v, _ := n.Get("config")
	switch v.Kind {
	case document.List:
		for i := range v.Items {
			if err := c.set(v.Items[i].Text, yes(&v.Items[i])); err != nil {
				return err
			}
		}
		return nil
	case document.Map:
		for i, k := range v.Keys {
			if err := c.set(k, &v.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return c.set(v.Text, yes(v))
}

// yes returns the value true, for a setting that is named without a value. The position is that
// of the name.
func yes(word *document.Node) *document.Node {
	return &document.Node{Kind: document.Bool, Text: "true", At: word.At}
}

func (c *config) set(name string, v *document.Node) error {
	switch name {
	case "counts-only":
		return flag(&c.countsOnly, name, v)
	case "atomic":
		return flag(&c.atomic, name, v)
	case "import":
		return flag(&c.imports, name, v)
	case "maxAffected":
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 1 {
			return badSetting(v.At, name)
		}
		c.maxAffected = n
		return nil
	}
	return unknownSetting(v.At, name)
}

func flag(to *bool, name string, v *document.Node) error {
	if v.Kind != document.Bool {
		return badSetting(v.At, name)
	}
	*to = v.Text == "true"
	return nil
}

// aliasesOf returns the aliases that commands and nested creates define.
func aliasesOf(all []command) map[string]bool {
	found := map[string]bool{}
	for i := range all {
		if all[i].alias != "" {
			found[all[i].alias] = true
		}
		collectAliases(all[i].node, found)
	}
	return found
}

func collectAliases(n *document.Node, found map[string]bool) {
	for i := range n.Items {
		v := &n.Items[i]
		if v.IsScalar() {
			continue
		}
		if n.Kind == document.Map && strings.HasPrefix(n.Keys[i], "@") && v.Kind == document.Map {
			found[n.Keys[i]] = true
		}
		collectAliases(v, found)
	}
}
