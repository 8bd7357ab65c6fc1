package assets

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// newFields are the attributes in the form of a new asset, by type. The first ones are shown at once, and those
// after the empty name are folded.
var newFields = map[string][]string{
	"Story":   {"Name", "Scope", "Timebox", "Owners", "Estimate", "Description", "", "Super", "Status", "Priority", "Team", "Risk", "Source", "Reference"},
	"Defect":  {"Name", "Scope", "Timebox", "Owners", "Priority", "Description", "", "Super", "Status", "Estimate", "Team", "Type", "Source", "Reference"},
	"TestSet": {"Name", "Scope", "Timebox", "Owners", "Estimate", "Description", "", "Super", "Status", "Priority", "Team", "Reference"},
	"Epic":    {"Name", "Scope", "Super", "Status", "Owners", "Description", "", "Priority", "Risk", "Swag", "Team", "Reference"},
	"Task":    {"Name", "Parent", "Owners", "DetailEstimate", "ToDo", "Description", "", "Status", "Category", "Reference"},
	"Test":    {"Name", "Parent", "Owners", "DetailEstimate", "ToDo", "Description", "", "Status", "Category", "Reference"},
	"Issue":   {"Name", "Scope", "Owner", "Priority", "Description", "", "Team", "Category", "Source", "Reference"},
	"Request": {"Name", "Scope", "Owner", "Priority", "Description", "", "Category", "Source", "Status", "Reference"},
	"Goal":    {"Name", "Scope", "Priority", "Description", "", "Category", "Reference"},
	"Team":    {"Name", "Description"},
	"Scope":   {"Name", "Parent", "BeginDate", "Description", "", "EndDate", "Owner", "Reference"},
	"Timebox": {"Name", "BeginDate", "EndDate", "", "TargetEstimate", "Owner", "Description"},
}

// given are the relations that parameters of the URL fill in. A parameter fills the first of its relations that the
// form has.
var given = map[string][]string{"scope": {"Scope", "Parent"}, "sprint": {"Timebox"}, "epic": {"Super"}, "parent": {"Parent"}, "status": {"Status"}, "owner": {"Owners"}}

// newPage is the form of a new asset.
type newPage struct {
	*editPage
	First, More []*field
	Return      string // path below the base to which "Create" leads; empty: the page of the asset
	Context     string // query of the page, for another asset
}

// showNew serves GET ui/new/<type>.
func showNew(v *ui.Visit) error {
	p, err := newForm(v, v.Request.URL.Query())
	if err != nil {
		return err
	}
	if made := v.Param("made"); ui.IsAnyOid(made) {
		names, err := v.NamesOf(made)
		if err != nil {
			return err
		}
		v.Say(v.Site.Base+assetLink(made), names.Of(made), "is created.")
	}
	return renderNew(v, p)
}

func renderNew(v *ui.Visit, p *newPage) error {
	v.Sends("api/asset?atomic=true", `{"AssetType": "`+p.kind.Token+`", "Name": "…"}`)
	return v.Render("new", "New "+strings.ToLower(p.Type), p)
}

// newForm returns the form of the type in the URL, filled in by parameters. Errors: *ui.Error, 404 if the type has
// no form.
func newForm(v *ui.Visit, params url.Values) (*newPage, error) {
	model, err := v.Model()
	if err != nil {
		return nil, err
	}
	names, kind := newFields[v.Request.PathValue("type")], model.Types[v.Request.PathValue("type")]
	if names == nil || kind == nil {
		return nil, ui.NotFound()
	}
	words, err := v.Words(ui.TagsOf(kind))
	if err != nil {
		return nil, err
	}
	a := &asset{kind: kind, model: model, words: words, Type: words.Of(ui.TypeTag(kind.Token)), row: row{}, May: true}
	p := &newPage{editPage: &editPage{asset: a, wanted: map[string]bool{}}, Return: localPath(params.Get("return"))}
	for _, name := range names {
		p.wanted[name] = true
	}
	context, err := p.takeGiven(v, params)
	if err != nil {
		return nil, err
	}
	p.Context = context.Encode()
	if err := readFields(v, p.editPage); err != nil {
		return nil, err
	}
	byName := map[string]*field{}
	for _, f := range p.fields {
		f.Required, f.Fresh = f.attribute.IsRequired, true
		byName[f.Name] = f
	}
	folded := false
	for _, name := range names {
		switch f := byName[name]; {
		case name == "":
			folded = true
		case f != nil && folded:
			p.More = append(p.More, f)
		case f != nil:
			p.First = append(p.First, f)
		}
	}
	p.chooseOwner(params.Get("owner"))
	return p, p.propose(v, params.Get("scope"), byName)
}

// takeGiven puts the parameters of the URL into the row of the form. It returns those that are valid.
func (p *newPage) takeGiven(v *ui.Visit, params url.Values) (url.Values, error) {
	context, oids := url.Values{}, map[string]string{}
	for name, relations := range given {
		value := params.Get(name)
		if !ui.IsAnyOid(value) {
			continue
		}
		context.Set(name, value)
		for _, to := range relations {
			if one := p.kind.ByName[to]; p.wanted[to] && one != nil && !one.IsMultivalue && oids[to] == "" {
				oids[to] = value
				break
			}
		}
	}
	names, err := v.NamesOf(slices.Collect(maps.Values(oids))...)
	if err != nil {
		return nil, err
	}
	for to, value := range oids {
		p.row[to], p.row[to+".Name"] = map[string]any{"_oid": value}, names.Of(value)
	}
	if p.Return != "" {
		context.Set("return", p.Return)
	}
	return context, nil
}

// chooseOwner ticks a member in the field of the owners.
func (p *newPage) chooseOwner(oid string) {
	for _, f := range p.fields {
		for i := range f.Options {
			if f.Name == "Owners" && f.Options[i].Value == oid {
				f.Options[i].Chosen = true
			}
		}
	}
}

// localPath returns a path below the base of this site, or "" if the text is none.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n") {
		return ""
	}
	return text
}

// sprintDays is the number of days of a sprint that a form proposes.
const sprintDays = 14

// numbered matches a name that ends with a number.
var numbered = regexp.MustCompile(`^(.*?)(\d{1,6})$`)

// propose fills in what a new project and a new sprint usually have: a first day, and the next name and days of a
// sprint.
func (p *newPage) propose(v *ui.Visit, scope string, fields map[string]*field) error {
	today := time.Now().UTC()
	switch p.kind.Token {
	case "Scope":
		fields["BeginDate"].Value = today.Format(time.DateOnly)
	case "Timebox":
		monday := today.AddDate(0, 0, (8-int(today.Weekday()))%7)
		fields["Name"].Value = "Sprint 1"
		if ui.IsOid(scope, "Scope") {
			var last []struct{ Name, EndDate string }
			err := v.API.Find([]ui.Query{{
				"from": "Timebox", "select": []string{"Name", "EndDate"}, "filter": []string{fitting["Timebox"]}, "with": map[string]any{"$Scope": scope},
				"sort": []string{"-EndDate"}, "page": map[string]int{"size": 1, "start": 0},
			}}, &last)
			if err != nil {
				return err
			}
			if len(last) == 1 {
				if m := numbered.FindStringSubmatch(last[0].Name); m != nil {
					n, _ := strconv.Atoi(m[2])
					fields["Name"].Value = m[1] + strconv.Itoa(n+1)
				}
				if end, err := time.Parse(time.DateOnly, last[0].EndDate[:min(10, len(last[0].EndDate))]); err == nil && end.After(today) {
					monday = end
				}
			}
		}
		fields["BeginDate"].Value, fields["BeginDate"].Label = monday.Format(time.DateOnly), "First day"
		fields["EndDate"].Value, fields["EndDate"].Label = monday.AddDate(0, 0, sprintDays-1).Format(time.DateOnly), "Last day"
	}
	return nil
}

// createNew serves POST ui/new/<type>: it creates the asset and leads back, or to the form of another one.
func createNew(v *ui.Visit) error {
	context, _ := url.ParseQuery(v.Field("context")) // what cannot be read fills in nothing
	p, err := newForm(v, context)
	if err != nil {
		return err
	}
	created := ""
	if err = v.Once(); err == nil {
		created, err = p.create(v, context.Get("scope"))
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		p.keep(v.Request.PostForm)
		p.Message = v.Readable(refused.Message)
		return renderNew(v, p)
	}
	if v.Field("another") != "" {
		context.Set("made", created)
		return v.Redirect("/ui/new/" + p.kind.Token + "?" + context.Encode())
	}
	return v.Redirect(p.after(created, context.Get("scope")))
}

// after returns the path to which a form leads after it has created an asset.
func (p *newPage) after(created, scope string) string {
	switch {
	case p.Return != "":
		u, _ := url.Parse(p.Return) // localPath has parsed it
		q := u.Query()
		q.Set("done", "made")
		u.RawQuery = q.Encode()
		return u.String()
	case p.kind.Token == "Scope":
		return "/ui/project/" + created + "?done=made"
	case p.kind.Token == "Timebox" && ui.IsOid(scope, "Scope"):
		return "/ui/project/" + scope + "/sprint/" + created + "?done=made"
	}
	return assetLink(created, "done", "made")
}

// create creates the asset and returns its Oid. Errors: *ui.Error.
func (p *newPage) create(v *ui.Visit, scope string) (string, error) {
	filled := p.row
	p.row = row{} // all values of the form count, also those that were filled in
	command := asCreate(p.changes(v.Request.PostForm))
	for name := range p.wanted {
		if to := filled.oid(name); to != "" && !v.Request.PostForm.Has("f."+name) {
			command[name] = to // a short form has only the name
		}
	}
	command["AssetType"] = p.kind.Token
	commands := []any{command}
	if p.kind.Token == "Timebox" {
		before, err := p.schedule(v, scope, command)
		if err != nil {
			return "", err
		}
		commands = slices.Concat(before, commands)
	}
	done, err := v.API.Write(commands...)
	if err != nil {
		return "", err
	}
	for _, o := range slices.Backward(done.AssetsCreated.OidTokens) {
		if strings.HasPrefix(o, p.kind.Token+":") {
			kind, rest, _ := strings.Cut(o, ":")
			id, _, _ := strings.Cut(rest, ":")
			return kind + ":" + id, nil
		}
	}
	return "", &ui.Error{Status: http.StatusConflict, Message: "Nothing was created."}
}

// asCreate returns the changes of a form as the values of a create: additions to many are the whole value.
func asCreate(changes map[string]any) map[string]any {
	for name, change := range changes {
		if many, ok := change.(map[string]any); ok {
			changes[name] = many["add"]
		}
	}
	return changes
}

// schedule completes the command of a sprint: its schedule is that of the project, and the day after its last day
// ends it. It returns the commands that give the project a schedule if it has none. Errors: *ui.Error.
func (p *newPage) schedule(v *ui.Visit, scope string, command map[string]any) (before []any, err error) {
	if !ui.IsOid(scope, "Scope") {
		return nil, &ui.Error{Status: http.StatusBadRequest, Message: "A sprint is created on the page of its project."}
	}
	if last, err := time.Parse(time.DateOnly, v.Field("f.EndDate")); err == nil {
		command["EndDate"] = last.AddDate(0, 0, 1).Format(time.DateOnly)
	}
	command["State"] = "State:100"
	var found []struct {
		Name     string
		Schedule ui.Reference
	}
	if err := v.API.Find([]ui.Query{{"from": scope, "select": []string{"Name", "Schedule"}}}, &found); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.NotFound()
	}
	if oid := found[0].Schedule.Oid; oid != "" && oid != ui.NoAsset {
		command["Schedule"] = oid
		return nil, nil
	}
	command["Schedule"] = "@schedule"
	return []any{
		map[string]any{"@schedule": map[string]any{"AssetType": "Schedule", "Name": "Sprints of " + found[0].Name}},
		map[string]any{"from": scope, "update": map[string]any{"Schedule": "@schedule"}},
	}, nil
}

// partTypes are the types of the parts of an asset, and the relation from a part to the asset.
var partTypes = map[string]struct {
	Relation string
	Types    []string
}{
	"Story": {"Parent", []string{"Task", "Test"}}, "Defect": {"Parent", []string{"Task", "Test"}}, "TestSet": {"Parent", []string{"Task", "Test"}},
	"Epic": {"Super", []string{"Story", "Epic"}},
}

// partForm is the line that adds parts to an asset.
type partForm struct {
	Types []option
	Line  string // what was typed
	Hint  string // example of a line
	Next  bool   // a part was just added: the line has the focus
}

// offerParts adds the line that adds parts.
func (v *assetView) offerParts(visit *ui.Visit) error {
	of, known := partTypes[v.kind.Token]
	if !known || !v.May || v.Deleted {
		return nil
	}
	tags := make([]string, len(of.Types))
	for i, t := range of.Types {
		tags[i] = ui.TypeTag(t)
	}
	words, err := visit.Words(tags)
	if err != nil {
		return err
	}
	v.Parts = &partForm{Line: visit.Field("line"), Hint: "Choose a provider @anna 4h", Next: visit.Param("add") != ""}
	if of.Relation == "Super" {
		v.Parts.Hint = "Pay by card @anna"
	}
	chosen := cmp.Or(visit.Field("type"), visit.Param("add"))
	for i, t := range of.Types {
		v.Parts.Types = append(v.Parts.Types, option{Value: t, Label: words.Of(tags[i]), Chosen: t == chosen})
	}
	return nil
}

// addPart serves POST ui/asset/<Oid>/add: it creates a part from one line.
func addPart(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	of, kind := partTypes[o.Type], v.Field("type")
	if !slices.Contains(of.Types, kind) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form names no type of a part."}
	}
	if err = v.Once(); err == nil {
		err = createPart(v, kind, of.Relation, o.Now().String(), v.Field("line"))
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return showRead(v, o.Now(), v.Readable(refused.Message))
	}
	return v.Redirect(assetLink(o.Now().String(), "done", "made", "add", kind))
}

func createPart(v *ui.Visit, kind, relation, to, line string) error {
	name, called, hours := readLine(line, relation == "Parent")
	if name == "" {
		return &ui.Error{Status: http.StatusBadRequest, Message: "Write the name first."}
	}
	part := map[string]any{"AssetType": kind, "Name": name, relation: to}
	if len(called) > 0 {
		found, err := membersCalled(v, "@"+strings.Join(called, " @"))
		if err != nil {
			return err
		}
		for i, name := range called {
			if i >= len(found) || len(found[i]) != 1 {
				return &ui.Error{Status: http.StatusBadRequest, Message: "No member, or more than one, has the name " + name + "."}
			}
		}
		part["Owners"] = slices.Concat(found...)
	}
	if hours != "" {
		part["DetailEstimate"], part["ToDo"] = hours, hours
	}
	if relation == "Super" {
		var found []struct{ Scope ui.Reference }
		if err := v.API.Find([]ui.Query{{"from": to, "select": []string{"Scope"}}}, &found); err != nil {
			return err
		}
		if len(found) == 1 {
			part["Scope"] = found[0].Scope.Oid
		}
	}
	_, err := v.API.Write(part)
	return err
}

// inHours matches a number of hours, such as 4h or 0.5h.
var inHours = regexp.MustCompile(`^(\d{1,5}(?:[.,]\d{1,2})?)h$`)

// readLine splits a line such as "Choose a provider @anna 4h" into the name, the names of the owners, and the hours.
// Owners and hours are at the end of the line. If timed is false, hours are part of the name.
func readLine(line string, timed bool) (name string, called []string, hours string) {
	words := strings.Fields(line)
	for len(words) > 0 {
		last := words[len(words)-1]
		m := inHours.FindStringSubmatch(last)
		switch {
		case timed && m != nil && hours == "":
			hours = strings.ReplaceAll(m[1], ",", ".")
		case len(last) > 1 && last[0] == '@':
			called = append(called, last[1:])
		default:
			return strings.Join(words, " "), called, hours
		}
		words = words[:len(words)-1]
	}
	return "", called, hours
}
