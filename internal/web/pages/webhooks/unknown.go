package webhooks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// badFilter begins a refusal of a filter, which does not say why. Spec: interface 7.2.
const badFilter = "Invalid QueryFilter2 token "

// filterPath is the path of attributes at the beginning of a term.
var filterPath = regexp.MustCompile(`^\w+(?:\.\w+)*`)

// unknown adds to the refusal of a filter the attribute that its type does not have, if
// there is one. Errors: *ui.Error.
func (f *webhookForm) unknown(v *ui.Visit, refusal string) (string, error) {
	term, bad := strings.CutPrefix(refusal, badFilter)
	if !bad {
		return refusal, nil
	}
	model, err := v.Model()
	if err != nil {
		return refusal, err
	}
	var all []webhookDefinition
	if json.Unmarshal([]byte(f.JSON), &all) != nil {
		return refusal, nil
	}
	for _, d := range all {
		if slices.ContainsFunc(d.Filter, func(filter string) bool { return strings.Contains(filter, term) }) {
			if name := missing(model, d.From, filterPath.FindString(term)); name != "" {
				return refusal + ": there is no attribute " + name, nil
			}
		}
	}
	return refusal, nil
}

// missing is the first attribute of a path that the type in front of it does not have;
// empty: all are there.
func missing(m *ui.Model, from, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		t := m.Types[from]
		switch {
		case t == nil || name == "":
			return ""
		case !t.Has(name):
			return from + "." + name
		case t.ByName[name] == nil:
			return "" // types below it have it
		}
		from = t.ByName[name].RelatedAsset.Nameref
	}
	return ""
}
