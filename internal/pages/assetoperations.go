package pages

import (
	"slices"
	"strconv"
	"strings"
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
		label := v.words.of(operationTag(v.kind.Token, o.Name))
		by := o.Validator.path()
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

// bytesOf writes a number of bytes as people read it; nothing for what is none.
func bytesOf(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return ""
	}
	units := []string{"B", "KiB", "MiB", "GiB"}
	unit := 0
	for ; n >= 1024 && unit < len(units)-1; unit++ {
		n /= 1024
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', min(1, unit), 64), ".0") + " " + units[unit]
}
