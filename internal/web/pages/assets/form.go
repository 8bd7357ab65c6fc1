package assets

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxChoices limits the options of a select. If there are more assets, the field is a text field
// for a name. maxTicked limits the assets that a field offers as checkboxes.
const (
	maxChoices = 200
	maxTicked  = 50
)

// maxEdited limits the bytes of a text that a form can change.
const maxEdited = 512 << 10

// control is the kind of an input.
type control string

// The kinds of inputs.
const (
	asText   control = "text"
	asLines  control = "lines" // several values, one per line
	asArea   control = "area"
	asNumber control = "number"
	asDay    control = "day"
	asMoment control = "moment" // a date and a time
	asCheck  control = "check"
	asChoice control = "choice" // one of the options
	asName   control = "name"   // one asset by its name, number or Oid
	asMany   control = "many"   // several assets
)

// field is an attribute in a form.
type field struct {
	Name, Label string
	Control     control
	Value       string
	Checked     bool
	Options     []option
	Rule        string // hint about valid input
	Required    bool
	Adds        string // for several assets: input of the text field that adds assets
	Message     string // why the input was refused
	Now         string // current value, if someone else has changed it since the form was opened
	Was         string // name that the form showed for a relation to one
	Fresh       bool   // the field is in the form of a new asset
	attribute   *ui.Attribute
}

// Wide reports whether a field has the full width of the form.
func (f *field) Wide() bool {
	return f.Control == asArea || f.Name == "Name" || f.Control == asMany && len(f.Options) > 0
}

// option is an asset that can be selected.
type option struct {
	Value, Label string
	Chosen, Had  bool // Had: the relation to many already contains the asset
}

// fieldGroup has fields that belong together. All groups except Main and Planning are folded.
type fieldGroup struct {
	Name   string
	Fields []*field
	Folded bool
}

// Open reports whether a folded group must be open: a field was refused, was also changed by
// someone else, or must be filled in.
func (g fieldGroup) Open() bool {
	return slices.ContainsFunc(g.Fields, func(f *field) bool { return f.Message != "" || f.Now != "" || f.Required && f.Control != asChoice })
}

// Labels returns the names of the fields.
func (g fieldGroup) Labels() string {
	var labels []string
	for _, f := range g.Fields {
		labels = append(labels, f.Label)
	}
	return strings.Join(labels, ", ")
}

// editPage is the tab with the form of an asset.
type editPage struct {
	*asset
	Groups  []fieldGroup
	Comment string
	Message string
	Not     []string // labels of attributes that the form does not have

	only   string          // name of the only attribute of the form; empty: all
	wanted map[string]bool // names of the attributes of the form of a new asset; nil: all
	fields []*field
	offers map[string][]ref // possible values of relations, by type; at most maxChoices+1
	days   map[string]bool  // attributes with a date only
}

// editable returns the attributes of the form and sets Not.
func (p *editPage) editable() []*ui.Attribute {
	var list []*ui.Attribute
	for _, one := range p.kind.Attributes {
		switch {
		case p.only != "" && one.Name != p.only || p.wanted != nil && !p.wanted[one.Name]:
		case p.isEdited(one):
			list = append(list, one)
		case !one.IsReadOnly || !p.kind.IsClosure(one) && groupOf(one, p.model) != inSystem:
			p.Not = append(p.Not, p.words.Of(one.DisplayName))
		}
	}
	slices.Sort(p.Not)
	return list
}

// readFields reads everything else that the fields need, in one request.
func readFields(v *ui.Visit, p *editPage) error {
	list := p.editable()
	around := assetView{asset: p.asset}
	var queries []ui.Query
	var into []any
	ask := func(q ui.Query) *[]row {
		rows := new([]row)
		queries, into = append(queries, q), append(into, rows)
		return rows
	}
	days := ask(ui.Query{"from": "AttributeDefinition", "where": map[string]any{"IsDateOnly": true}, "select": []string{"Name", "Asset.Name"}})
	type shown struct {
		asked
		answer *[]row
	}
	present, offered := map[string]shown{}, map[string]*[]row{}
	for _, one := range list {
		related := p.model.Types[one.RelatedAsset.Nameref]
		if !one.IsRelation() || related == nil {
			continue
		}
		if one.IsMultivalue && p.Oid != "" {
			_, back, _ := strings.Cut(one.ReciprocalRelation.Tokenref, ".")
			many := around.ask(one, related, back)
			present[one.Name] = shown{many, ask(many.query)}
		}
		if p.offers[related.Token] == nil && len(one.ValidTypes) == 0 && related.ByName["Name"] != nil && offered[related.Token] == nil {
			offered[related.Token] = ask(offer(p.model, related, p.scope()))
		}
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	p.days = daysOf(*days, p.kind, p.model)
	p.offers = map[string][]ref{}
	for name, rows := range offered {
		for _, r := range *rows {
			to, _ := r["_oid"].(string)
			p.offers[name] = append(p.offers[name], ref{to, ui.RoleName(r.text("Name"))})
		}
		if !p.model.IsA(name, "List") {
			slices.SortStableFunc(p.offers[name], func(a, b ref) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
		}
	}
	for _, one := range list {
		var has []row
		if many, found := present[one.Name]; found {
			has = many.rows(*many.answer)
		}
		p.fields = append(p.fields, p.fieldOf(one, has))
	}
	p.groupFields()
	return nil
}

// scope returns the project of the asset, or "" if it has none or is a project itself.
func (a *asset) scope() string { return a.row.oid("Scope") }

// fitting has the filter for assets that fit a project, by type: sprints of its schedule, and epics of the project
// and of those above it.
var fitting = map[string]string{"Timebox": "Schedule.ScheduledScopes=$Scope", "Epic": "Scope.ChildrenMeAndDown=$Scope"}

// offer returns the query for the assets of a type that can be selected for an asset of a project. Only values of
// lists are sorted by the database, because other types may have too many assets.
func offer(d *ui.Model, t *ui.Type, scope string) ui.Query {
	filter := []string{"AssetState='Future','Active'"}
	q := ui.Query{"from": t.Token, "select": []string{"Name"}, "page": map[string]int{"size": maxChoices + 1, "start": 0}}
	if fits := fitting[t.Token]; fits != "" && scope != "" {
		filter, q["with"] = append(filter, fits), map[string]any{"$Scope": scope}
	}
	q["filter"] = filter
	if d.IsA(t.Token, "List") {
		sortAsShown(q, t)
	}
	return q
}

// daysOf returns the attributes of a type that hold a date without a time.
func daysOf(definitions []row, kind *ui.Type, model *ui.Model) map[string]bool {
	days := map[string]bool{}
	for _, r := range definitions {
		if model.IsA(kind.Token, r.text("Asset.Name")) {
			days[r.text("Name")] = true
		}
	}
	return days
}

// groupFields puts the fields into the same groups as on the page that shows the asset.
func (p *editPage) groupFields() {
	byName := map[string][]*field{}
	for _, f := range p.fields {
		name := groupOf(f.attribute, p.model)
		if f.attribute.ToMany() && name != inPeople {
			name = inRelations
		}
		byName[name] = append(byName[name], f)
	}
	for _, name := range append(groupOrder, inRelations) {
		if len(byName[name]) > 0 {
			p.Groups = append(p.Groups, fieldGroup{Name: name, Fields: byName[name], Folded: name != inMain && name != inPlanning})
		}
	}
}

// inRelations is the form's group of relations to many.
const inRelations = "Relations"

// fieldOf returns the field of an attribute with its current value.
func (p *editPage) fieldOf(one *ui.Attribute, present []row) *field {
	f := &field{Name: one.Name, Label: p.words.Of(one.DisplayName), attribute: one, Control: p.controlOf(one)}
	switch f.Control {
	case asMany:
		p.fillMany(f, present)
	case asChoice:
		f.Value = p.row.oid(one.Name)
		f.Options = p.choices(one, f.Value)
	case asCheck:
		f.Checked = p.row.is(one.Name)
	default:
		f.Value = formValue(f.Control, one, p.row)
	}
	if f.Control == asName {
		f.Was = f.Value
	}
	f.Required = one.IsRequired && f.Value != ""
	f.Rule = p.ruleOf(f)
	return f
}

// controlOf chooses the input for an attribute.
func (p *editPage) controlOf(one *ui.Attribute) control {
	switch {
	case one.ToMany():
		return asMany
	case one.IsMultivalue:
		return asLines
	case one.IsRelation():
		if offered := p.offers[one.RelatedAsset.Nameref]; len(one.ValidTypes) == 0 && p.named(one) && len(offered) <= maxChoices {
			return asChoice
		}
		return asName
	}
	switch one.AttributeType {
	case "LongText":
		return asArea
	case "Boolean":
		return asCheck
	case "Numeric", "LongInt", "Opaque":
		return asNumber
	case "Date":
		if p.days[one.Name] {
			return asDay
		}
		return asMoment
	}
	if strings.ContainsAny(p.row.text(one.Name), "\r\n") {
		return asArea // a single-line input would drop the other lines
	}
	return asText
}

// named reports whether the related assets of a relation have names.
func (a *asset) named(one *ui.Attribute) bool {
	related := a.model.Types[one.RelatedAsset.Nameref]
	return related != nil && related.ByName["Name"] != nil
}

// choices returns the options of a relation to one, including its current value.
func (p *editPage) choices(one *ui.Attribute, present string) []option {
	var options []option
	found := present == ""
	for _, to := range p.offers[one.RelatedAsset.Nameref] {
		options = append(options, option{Value: to.Oid, Label: cmp.Or(to.Name, to.Oid), Chosen: to.Oid == present})
		found = found || to.Oid == present
	}
	if !found {
		options = append([]option{{Value: present, Label: cmp.Or(p.row.name(one.Name), present), Chosen: true}}, options...)
	}
	return options
}

// fillMany sets the options of a relation to many: its current assets, and further assets if
// there are few.
func (p *editPage) fillMany(f *field, present []row) {
	has := map[string]bool{}
	for _, r := range present[:min(len(present), maxListed)] {
		one := relatedOf(r)
		has[one.Oid] = true
		f.Options = append(f.Options, option{Value: one.Oid, Label: strings.TrimSpace(one.Number + " " + cmp.Or(one.Name, one.Oid)), Chosen: true, Had: true})
	}
	if len(present) > maxListed {
		f.Rule = "the first 50 are shown, the others stay"
	}
	if offered := p.offers[f.attribute.RelatedAsset.Nameref]; len(offered) <= maxTicked && len(f.attribute.ValidTypes) == 0 {
		for _, to := range offered {
			if !has[to.Oid] {
				f.Options = append(f.Options, option{Value: to.Oid, Label: cmp.Or(to.Name, to.Oid)})
			}
		}
	}
}

// formValue returns the value of an attribute as the input c needs it.
func formValue(c control, one *ui.Attribute, r row) string {
	switch c {
	case asName:
		return cmp.Or(r.name(one.Name), r.oid(one.Name))
	case asChoice:
		return r.oid(one.Name)
	case asLines:
		return strings.Join(r.list(one.Name), "\n")
	case asMoment:
		if at, err := time.Parse(dateForms[0], strings.TrimSuffix(r.text(one.Name), "Z")); err == nil {
			return at.Format("2006-01-02T15:04:05.999")
		}
	case asArea:
		return strings.ReplaceAll(r.text(one.Name), "\r\n", "\n")
	}
	return r.text(one.Name)
}

// ruleOf returns a hint about valid input for a field, or "" if the field itself shows what it takes.
func (p *editPage) ruleOf(f *field) string {
	var rules []string
	related := related(p.words, f.attribute)
	switch f.Control {
	case asText:
		if f.attribute.AttributeType == "Duration" {
			rules = append(rules, "such as 2 Weeks")
		}
	case asLines:
		rules = append(rules, "one per line")
	case asMoment:
		rules = append(rules, "in UTC")
	case asName:
		rules = append(rules, "name or number of "+related)
	case asMany:
		rules = append(rules, "name or number of "+related+"; several with ; between")
	}
	if f.Rule != "" {
		rules = append(rules, f.Rule)
	}
	return strings.Join(rules, ", ")
}

// related returns the name of the type of a relation, with an article.
func related(w ui.Words, one *ui.Attribute) string {
	name := w[ui.TypeTag(one.RelatedAsset.Nameref)]
	if name == "" {
		name = one.RelatedAsset.Nameref
	}
	if name != "" && strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}
