package webhooks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// badFilter is the start of the message with which the interface refuses a filter. The message does
// not contain the reason. Spec: interface 7.2.
const badFilter = "Invalid QueryFilter2 token "

// filterPath matches the attribute path at the start of a filter term.
var filterPath = regexp.MustCompile(`^\w+(?:\.\w+)*`)

// unknown adds the name of an unknown attribute to the refusal of a filter. Errors: *ui.Error.
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

// missing returns the first attribute of a path that does not exist, or "" if all attributes of the
// path exist. from is the type at which the path starts.
func missing(m *ui.Model, from, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		t := m.Types[from]
		switch {
		case t == nil || name == "":
			return ""
		case !t.Has(name):
			return from + "." + name
		case t.ByName[name] == nil:
			return "" // a subtype has it
		}
		from = t.ByName[name].RelatedAsset.Nameref
	}
	return ""
}
