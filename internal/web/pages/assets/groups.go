package assets

import (
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// The groups of attributes on a page. The group is computed from the metadata of the
// attribute, so it also works for types and attributes that administrators add.
const (
	inMain     = "Main"
	inPlanning = "Planning"
	inPeople   = "People"
	inDates    = "Dates"
	inSystem   = "System"
)

// groupOrder is the order of the groups on the page.
var groupOrder = []string{inMain, inPlanning, inPeople, inDates, inSystem}

// group puts the values of the asset into groups.
func (v *assetView) group() {
	byName := map[string][]fact{}
	operated := validators(v.kind)
	for _, one := range v.kind.Attributes {
		if one.ToMany() && !v.IsPast || operated[one.Name] || isTotal(one) || one.AttributeType == "Password" || one.AttributeType == "Blob" {
			continue
		}
		if one.Name == "Name" || one.Name == "Number" || one.AttributeType == "Rank" {
			continue // shown in the heading, or as the place in a backlog
		}
		name := groupOf(one, v.model)
		f, set := v.factOf(one)
		v.makeEditable(&f, one)
		switch {
		case one.AttributeType == "LongText" && (set || one.Name == "Description" && f.Edit != ""):
			v.Long = append(v.Long, f)
		case set || daily[one.Name] && f.Edit != "":
			byName[name] = append(byName[name], f)
		case f.Edit != "":
			v.NotSet = append(v.NotSet, unset{f.Label, f.Name, f.Edit})
		}
	}
	for i, list := range v.Lists {
		if list.people {
			f := list.fact()
			v.makeEditable(&f, v.kind.ByName[list.Name])
			byName[inPeople] = append(byName[inPeople], f)
			v.Lists[i].Rows = nil
		}
	}
	v.NotSet = slices.DeleteFunc(v.NotSet, func(u unset) bool {
		if daily[u.Name] {
			byName[inPeople] = append(byName[inPeople], fact{Name: u.Name, Label: u.Label, Edit: u.Edit})
		}
		return daily[u.Name]
	})
	v.Lists = slices.DeleteFunc(v.Lists, func(l relatedList) bool { return len(l.Rows) == 0 })
	for _, name := range groupOrder {
		if len(byName[name]) > 0 {
			v.Groups = append(v.Groups, group{Name: name, Facts: byName[name], Quiet: name == inSystem})
		}
	}
	slices.SortFunc(v.NotSet, func(a, b unset) int { return strings.Compare(a.Label, b.Label) })
}

// validators returns the attributes that report whether an operation may run.
func validators(t *ui.Type) map[string]bool {
	names := map[string]bool{}
	for _, o := range t.Operations {
		names[o.Validator.Path()] = true
	}
	return names
}

// ofService has prefixes of the attributes that the service maintains for every asset. Spec:
// interface 2.2.7.
var ofService = []string{"Create", "Change", "Retire", "MyLast", "Is", "Check", "Inactive", "Days", "Key", "Moment", "Now", "ID", "Prior", "CanUpdate", "SecurityScope"}

// groupOf returns the group of an attribute.
func groupOf(a *ui.Attribute, model *ui.Model) string {
	if a.IsReadOnly {
		for _, begin := range ofService {
			if strings.HasPrefix(a.Name, begin) {
				return inSystem
			}
		}
	}
	switch a.AttributeType {
	case "Relation":
		switch {
		case model.IsA(a.RelatedAsset.Nameref, "Member"):
			return inPeople
		case model.IsA(a.RelatedAsset.Nameref, "List"):
			return inMain
		}
		return inPlanning
	case "Numeric", "Duration", "Rank":
		return inPlanning
	case "Date":
		return inDates
	case "State", "Opaque", "AssetType", "Guid":
		return inSystem
	}
	return inMain
}

// factOf returns an attribute with its value, and whether it has a value.
func (a *asset) factOf(one *ui.Attribute) (fact, bool) {
	f := fact{Label: a.words.Of(one.DisplayName)}
	switch {
	case one.ToMany():
		f.Refs = refsOf(a.row.list(one.Name), a.row.list(one.Name+".Name"))
		if len(f.Refs) > maxListed {
			f.Refs, f.All = f.Refs[:maxListed], consoleLink(ui.Query{"from": a.Oid, "select": []string{one.Name}})
		}
		return f, len(f.Refs) > 0
	case one.IsRelation():
		if to := a.row.oid(one.Name); to != "" {
			f.Refs = []ref{{to, a.row.name(one.Name)}}
		}
		return f, len(f.Refs) > 0
	case one.IsMultivalue:
		f.Text = strings.Join(a.row.list(one.Name), ", ")
	case one.AttributeType == "Boolean":
		f.Text = "yes"
		return f, a.row.is(one.Name)
	case one.AttributeType == "LongText":
		f.HTML = ui.Sanitized(a.row.text(one.Name))
		return f, a.row.text(one.Name) != ""
	case one.AttributeType == "Date":
		f.At = dateOf(a.row.text(one.Name))
		return f, f.At != ""
	case one.AttributeType == "Numeric" && one.IsReadOnly:
		f.Text = ui.Decimal(a.row.text(one.Name))
	default:
		f.Text = a.row.text(one.Name)
		if strings.HasPrefix(f.Text, "https://") || strings.HasPrefix(f.Text, "http://") {
			f.URL = f.Text
		}
	}
	return f, f.Text != ""
}

// refsOf combines the Oids of a relation with the names.
func refsOf(oids, names []string) []ref {
	refs := make([]ref, len(oids))
	for i, o := range oids {
		refs[i].Oid = o
		if len(names) == len(oids) {
			refs[i].Name = ui.RoleName(names[i])
		}
	}
	return refs
}

// dateForms are the formats in which the interface writes instants. Spec: interface 2.2.2.
var dateForms = []string{"2006-01-02T15:04:05.999999999", time.RFC3339Nano}

// dateOf formats a date of a row as HTML. A date without a time stays unchanged.
func dateOf(text string) template.HTML {
	if at, known := dateIn(text); known {
		return ui.Instant(at)
	}
	return template.HTML(template.HTMLEscapeString(text))
}

// dateIn parses an instant of a row. known is false for a date without a time.
func dateIn(text string) (at time.Time, known bool) {
	for _, form := range dateForms {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return at, false
}
