package bulk

import (
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
)

// The messages of this package that a caller can see. Spec: interface 7.2.

func notACommand(n *document.Node) error {
	article := "a"
	if n.Kind == document.List {
		article = "an"
	}
	return fault.Invalidf(n.At, "A command must be an object, not %s %s.", article, n.Kind)
}

func unknownKey(at int, path, key string) error {
	return fault.Invalidf(at, "Invalid key at node(s): %s->%s", path, key)
}

func noCommand(at int) error {
	return fault.Invalidf(at, "The object holds no command: it has none of AssetType, from, oid, config.")
}

func aliasTaken(alias string) error {
	return fault.Invalidf(fault.NoPlace, "Duplicate alias: %s", alias)
}

func badForm(at int, key, want string) error {
	return fault.Invalidf(at, "Key %q must have %s.", key, want)
}

func unknownSetting(at int, name string) error {
	return fault.Invalidf(at, "Unknown config: %s", name)
}

func badSetting(at int, name string) error {
	return fault.Invalidf(at, "Invalid config: %s", name)
}

func importDenied() error {
	return fault.Deniedf("import is for system administrators")
}

func affectsTooMany(n, limit int) error {
	return fault.Invalidf(fault.NoPlace, "The command affects %d assets, more than maxAffected: %d.", n, limit)
}

func showsTooMuch(limit int) error {
	return fault.Invalidf(fault.NoPlace,
		"The answer would show more than %d bytes of commands; send fewer, or shorter ones.", limit)
}

func tooManyCommands(limit int) error {
	return fault.Invalidf(fault.NoPlace, "The request holds more than %d commands.", limit)
}

func notSingle() error {
	return fault.Invalidf(fault.NoPlace, "If-Match is for a request with one command on one asset")
}

func oldPasswordAsync(at int) error {
	return fault.Invalidf(at, "A request with OldPassword is not stored; send it without respond-async")
}

func asyncTooSlow() error {
	return fault.Invalidf(fault.NoPlace, "The request took too long, and did so again; send it in smaller parts.")
}
