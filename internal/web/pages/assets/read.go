package assets

import (
	"html/template"
	"strconv"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxListed is how many assets of a relation a page lists.
const maxListed = 50

// assetView is the page on which an asset is read.
type assetView struct {
	*asset
	Groups      []group
	Totals      *totals // nil: the type has none
	Long        []fact  // texts of many lines, first the description
	NotSet      []string
	Tables      []relatedTable
	Lists       []relatedList
	Further     []furtherList
	Attachments []attached
	Attaches    bool   // the type has attachments, and the reader may change the asset
	Largest     string // attachment that a request may send; empty: it is not known
	Content     *attached
	Operations  []assetOperation
	NotNow      []string // operations that may not run
	Parts       []making // what may be made below the asset
	Message     string   // what was refused
}

// making is a link that makes an asset.
type making struct{ Label, Link string }

// fact is an attribute with its value.
type fact struct {
	Label string
	Text  string        // one value
	URL   string        // that Text is
	HTML  template.HTML // a long text
	At    template.HTML // an instant
	Refs  []ref
	All   string // console: all of Refs, where there are more
}

// group are facts that belong together.
type group struct {
	Name  string
	Facts []fact
	Quiet bool // of interest to few
}

// showRead shows an asset, or one of its versions, with what was refused.
func showRead(v *ui.Visit, o oid.OID, refused string) error {
	a, err := load(v, o)
	if err != nil {
		return err
	}
	view := assetView{asset: a, Message: refused}
	if !a.IsPast {
		if view.Totals, err = readTotals(v, a, v.Param("totals") != ""); err != nil {
			return err
		}
		if err := readAround(v, &view); err != nil {
			return err
		}
	}
	view.group()
	v.Sends(dataPath(o)+"?op=…", "")
	return v.Render("asset", a.title(), view)
}

// title is what the browser calls the page.
func (a *asset) title() string {
	if a.Number != "" {
		return a.Number + " " + a.Name
	}
	return a.Name
}

// load reads an asset, or one of its versions. Errors: *ui.Error, 404 for what is hidden
// as for what is missing.
func load(v *ui.Visit, o oid.OID) (*asset, error) {
	a, err := kindOf(v, o)
	if err != nil {
		return nil, err
	}
	rows, err := rowsOf(v, a, func(tokens []string) ui.Query {
		q := ui.Query{"from": a.Oid, "select": tokens, "filter": []string{alsoDeleted}}
		if o.Moment != 0 {
			q["asof"] = "All"
			q["filter"] = []string{alsoDeleted, "Moment='" + strconv.FormatInt(o.Moment, 10) + "'"}
		}
		return q
	}, o.Moment != 0)
	if err != nil {
		return nil, hidden(err)
	}
	if len(rows) != 1 {
		return nil, ui.NotFound()
	}
	a.IsPast = o.Moment != 0
	a.take(rows[0])
	return a, nil
}

// rowsOf reads rows with all attributes of an asset; where its long texts are too large
// to be read, without them.
func rowsOf(v *ui.Visit, a *asset, ask func(tokens []string) ui.Query, held bool) ([]row, error) {
	var rows []row
	err := v.API.Find([]ui.Query{ask(a.tokens(held, true))}, &rows)
	if _, other := ui.AsError(err); other != nil && v.Request.Context().Err() == nil {
		rows, a.Cut = nil, true
		err = v.API.Find([]ui.Query{ask(a.tokens(held, false))}, &rows)
	}
	return rows, err
}

// tokens are what a query selects of an asset: all with one value, and the names of what
// relations to one lead to; with held also the relations to many that a version has.
func (a *asset) tokens(held, long bool) []string {
	var tokens []string
	for _, one := range a.kind.Attributes {
		switch {
		case one.AttributeType == "Password" || one.AttributeType == "Blob":
		case isTotal(one), one.AttributeType == "LongText" && !long:
		case one.ToMany() && (!held || one.IsReadOnly || a.kind.IsClosure(one)):
		case one.IsRelation():
			tokens = append(tokens, one.Name)
			if name := a.nameOf(one); name != "" {
				tokens = append(tokens, name)
			}
		default:
			tokens = append(tokens, one.Name)
		}
	}
	return tokens
}

// nameOf is the token of the names of what a relation leads to; empty: these have none.
func (a *asset) nameOf(relation *ui.Attribute) string {
	related := a.model.Types[relation.RelatedAsset.Nameref]
	if related == nil || related.ByName["Name"] == nil || relation.Name == "ID" || relation.Name == "Now" || relation.Name == "Prior" {
		return ""
	}
	return relation.Name + ".Name"
}

// take reads what the heading shows.
func (a *asset) take(r row) {
	a.row = r
	a.Moment = r.text("Moment")
	a.Number = r.text("Number")
	a.Name = ui.RoleName(r.text("Name"))
	if a.Name == "" {
		a.Name = a.Oid
	}
	a.State = r.text("AssetState")
	a.Deleted = r.is("IsDeleted")
	a.May = r.is("CanUpdate") && !a.IsPast
	a.Changed = instantOf{By: ref{r.oid("ChangedBy"), r.name("ChangedBy")}, At: r.text("ChangeDateUTC")}
	for _, name := range []string{"Scope", "SecurityScope"} {
		if to := r.oid(name); to != "" && to != a.Oid && a.Project == nil {
			a.Project = &ref{to, r.name(name)}
		}
	}
}
