package assets

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/ui"
)

// assetOperation is one that may run on an asset.
type assetOperation struct {
	Name, Label string
	Final       bool // asks first
	Arguments   []assetArgument
}

// assetArgument is what an operation wants to know.
type assetArgument struct {
	Name, Kind string
	Required   bool
}

// offer takes the operations of a type: those that may run now, and the names of those
// that may not.
func (v *assetView) offer() {
	for _, o := range v.kind.Operations {
		label := v.words.Of(ui.OperationTag(v.kind.Token, o.Name))
		by := o.Validator.Path()
		if by != "" && !v.row.is(by) || by == "" && !v.May {
			v.NotNow = append(v.NotNow, label)
			continue
		}
		one := assetOperation{Name: o.Name, Label: label, Final: strings.HasPrefix(o.Name, "Delete")}
		for _, a := range o.Arguments {
			one.Arguments = append(one.Arguments, assetArgument{Name: a.Name, Kind: a.AttributeType, Required: a.IsRequired})
		}
		slices.SortFunc(one.Arguments, func(a, b assetArgument) int { return strings.Compare(a.Name, b.Name) })
		v.Operations = append(v.Operations, one)
	}
	slices.SortFunc(v.Operations, func(a, b assetOperation) int { return strings.Compare(a.Label, b.Label) })
	slices.Sort(v.NotNow)
}
