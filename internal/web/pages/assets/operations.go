package assets

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// assetOperation is an operation that can run on the asset.
type assetOperation struct {
	Name, Label string
	Final       bool // needs a confirmation
	Arguments   []assetArgument
}

// assetArgument is an argument of an operation.
type assetArgument struct {
	Name, Kind string
	Required   bool
}

// offer sets the operations that can run now, and the names of the operations that cannot. It does
// not offer readers to inactivate themselves, because that would end their sign-in.
func (v *assetView) offer(reader string) {
	for _, o := range v.kind.Operations {
		if v.Oid == reader && o.Name == "Inactivate" || v.kind.Token == proposalType && o.Name == "Apply" { // it has a form of its own
			continue
		}
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

// parts maps a type to the types of its parts and to the relation from a part to the asset.
var parts = map[string]struct {
	Relation string
	Types    []string
}{
	"Story": {"Parent", []string{"Task", "Test"}}, "Defect": {"Parent", []string{"Task", "Test"}}, "TestSet": {"Parent", []string{"Task", "Test"}},
	"Epic": {"Super", []string{"Story", "Epic"}},
}

// offerParts adds links to the console with requests that create parts of the asset.
func (v *assetView) offerParts(visit *ui.Visit) {
	of, known := parts[v.kind.Token]
	if !known || !v.May || v.Deleted {
		return
	}
	for _, t := range of.Types {
		scope := ""
		if of.Relation == "Super" && v.Project != nil {
			scope = `, "Scope": "` + v.Project.Oid + `"`
		}
		label := "New " + strings.ToLower(t)
		v.Parts = append(v.Parts, making{label, visit.Making(`[
 {"AssetType": "` + t + `", "Name": "` + label + `", "` + of.Relation + `": "` + v.Oid + `"` + scope + `}
]`)})
	}
}
