package assets

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// assetOperation is an operation that can run on the asset.
type assetOperation struct {
	Name, Label string
	Asks        bool   // needs a confirmation
	Explains    string // what it does, where its name does not say it
	Arguments   []assetArgument
}

// plain has the names of operations for people, and what an operation does where its name does not say it.
// Operations that are not in it have the names of the interface.
var plain = map[string]struct{ Label, Explains string }{
	"QuickSignup":      {"Assign to me", ""},
	"QuickClose":       {"Close with tasks and tests", ""},
	"Copy":             {"Duplicate", ""},
	"DeepCopy":         {"Duplicate with tasks and tests", ""},
	"Split":            {"Split", "A new item gets what is not done yet."},
	"ConvertToDefect":  {"Turn into a defect", "A new defect takes the place of this item."},
	"StoryToEpic":      {"Turn into an epic", "A new epic takes the place of this item."},
	"EpicToStory":      {"Turn the epic back into this item", "The epic is deleted."},
	"ConvertToTeam":    {"Make a team with this name", ""},
	"MakeTemplate":     {"Use as a template", "It leaves the backlog, and can be duplicated from then on."},
	"GenerateSubStory": {"Add a backlog item to its epic", ""},
	"GenerateSubEpic":  {"Add an epic below", ""},
	"Inactivate":       {"Close", ""},
	"Reactivate":       {"Reopen", ""},
	"Undelete":         {"Bring back", ""},
}

// repeated has operations that do the same as another one of the type.
var repeated = map[string]string{"Inactivate": "Close", "ShallowCopy": "Copy", "Breakdown": "StoryToEpic"}

// assetArgument is an argument of an operation.
type assetArgument struct {
	Name, Kind string
	Required   bool
}

// offer sets the operations that can run now. It does not offer readers to inactivate themselves, because that would end their sign-in.
func (v *assetView) offer(reader string) {
	for _, o := range v.kind.Operations {
		if v.Oid == reader && o.Name == "Inactivate" || v.kind.Token == proposalType && o.Name == "Apply" { // it has a form of its own
			continue
		}
		if by := o.Validator.Path(); by != "" && !v.row.is(by) || by == "" && !v.May || v.has(repeated[o.Name]) {
			continue
		}
		one := assetOperation{Name: o.Name, Label: v.words.Of(ui.OperationTag(v.kind.Token, o.Name)), Explains: plain[o.Name].Explains}
		if label := plain[o.Name].Label; label != "" {
			one.Label = label
		}
		one.Asks = one.Explains != "" || strings.HasPrefix(o.Name, "Delete")
		for _, a := range o.Arguments {
			one.Arguments = append(one.Arguments, assetArgument{Name: a.Name, Kind: a.AttributeType, Required: a.IsRequired})
		}
		slices.SortFunc(one.Arguments, func(a, b assetArgument) int { return strings.Compare(a.Name, b.Name) })
		v.Operations = append(v.Operations, one)
	}
	slices.SortFunc(v.Operations, func(a, b assetOperation) int { return strings.Compare(a.Label, b.Label) })
}

// has reports whether the type of the asset has an operation.
func (a *asset) has(operation string) bool {
	return operation != "" && a.kind.Operations[operation] != nil
}
