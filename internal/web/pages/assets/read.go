package assets

import (
	"html/template"
	"strconv"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// maxListed limits the assets of a relation that a page lists.
const maxListed = 50

// assetView is the page that shows an asset.
type assetView struct {
	*asset
	Groups        []group
	Totals        *totals // nil: the type has none
	Long          []fact  // long texts, the description first
	NotSet        []unset
	Tables        []relatedTable
	Lists         []relatedList
	Further       []furtherList
	Attachments   []attached
	Attaches      bool   // the type has attachments and the reader may add one
	Largest       string // size limit of an attachment with its unit; empty if unknown
	Content       *attached
	Operations    []assetOperation
	Parts         *partForm // nil: the reader cannot add parts
	Proposal      *proposal
	Comments      []comment
	Talks         bool   // the reader may comment on it
	Draft         string // comment that was refused
	OlderComments bool   // there are more than Comments has
	Message       string // why a form was refused
}

// fact is an attribute with its value.
type fact struct {
	Name   string // name of the attribute
	Label  string
	Edit   string        // path of the form that changes it, without the base; empty: the reader may not
	Choice bool          // it is one of the values of a list
	Text   string        // one value
	URL    string        // link on Text
	HTML   template.HTML // a long text
	At     template.HTML // an instant
	Refs   []ref
	All    string // link to the console with all assets, if Refs has only the first
	long   bool
}

// group has facts that belong together.
type group struct {
	Name  string
	Facts []fact
	Quiet bool // interesting only for few readers
}

// showRead shows an asset or one of its versions. refused is the message about a refused form,
// or "".
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
		if err := readComments(v, &view); err != nil {
			return err
		}
		if view.Proposal, err = readProposal(v, a); err != nil {
			return err
		}
	}
	view.group()
	v.Sends(dataPath(o)+"?op=…", "")
	return v.Render("asset", a.title(), view)
}

// title returns the title of the browser window.
func (a *asset) title() string {
	if a.Number != "" {
		return a.Number + " " + a.Name
	}
	return a.Name
}

// load reads an asset or one of its versions. Errors: *ui.Error, 404 if the asset is missing
// or hidden from the reader.
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

// rowsOf reads rows with all attributes of an asset. If the answer is too large, it reads them
// again without long texts. For the parameter held, see the method tokens.
func rowsOf(v *ui.Visit, a *asset, ask func(tokens []string) ui.Query, held bool) ([]row, error) {
	var rows []row
	err := v.API.Find([]ui.Query{ask(a.tokens(held, true))}, &rows)
	if _, other := ui.AsError(err); other != nil && v.Request.Context().Err() == nil {
		rows, a.Cut = nil, true
		err = v.API.Find([]ui.Query{ask(a.tokens(held, false))}, &rows)
	}
	return rows, err
}

// tokens returns the attributes to select: all single values, and the names of assets in
// relations to one. If held is true, it includes the relations to many that a version stores.
// If long is false, it leaves out long texts.
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

// nameOf returns the token for the names of the related assets. It is empty if they have no
// names.
func (a *asset) nameOf(relation *ui.Attribute) string {
	related := a.model.Types[relation.RelatedAsset.Nameref]
	if related == nil || related.ByName["Name"] == nil || relation.Name == "ID" || relation.Name == "Now" || relation.Name == "Prior" {
		return ""
	}
	return relation.Name + ".Name"
}

// take sets the data of the heading from a row.
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
