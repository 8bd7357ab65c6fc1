package assets

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// relatedTable has children or parts of an asset.
type relatedTable struct {
	Label, Name string
	Rows        []relatedRow
	HasNumber   bool
	HasStatus   bool
	HasToDo     bool
	HasType     bool   // the rows have several types
	All         string // link to the console with all rows, if Rows has only the first
}

// relatedList has the assets of a relation to many that the page does not show as a table.
type relatedList struct {
	Label, Name string
	Rows        []relatedRow
	All         string
	people      bool
}

// furtherList is a relation that the page does not read, because it repeats other relations or may
// have too many assets. All is a link to the console.
type furtherList struct{ Label, All string }

// relatedRow is one asset of a relation.
type relatedRow struct {
	Oid, Number, Name, Type, State, Status, ToDo string
}

// fact returns a short list in the form of a single value.
func (l relatedList) fact() fact {
	f := fact{Label: l.Label, All: l.All}
	for _, r := range l.Rows {
		f.Refs = append(f.Refs, ref{r.Oid, r.Name})
	}
	return f
}

// asked is a relation to many with the query that reads it. The query selects the related assets by
// their relation back to the asset. If within is true, it selects the asset and this relation
// instead.
type asked struct {
	relation *ui.Attribute
	table    bool
	within   bool
	columns  []string
	query    ui.Query
}

// readAround reads the relations to many in one request: children, parts and all others. Then
// it reads the attachments.
func readAround(v *ui.Visit, view *assetView) error {
	all := view.toAsk()
	queries := make([]ui.Query, len(all))
	rows := make([][]row, len(all))
	into := make([]any, len(all))
	for i, one := range all {
		queries[i], into[i] = one.query, &rows[i]
	}
	if len(queries) > 0 {
		if err := v.API.Find(queries, into...); err != nil {
			return err
		}
	}
	for i, one := range all {
		view.add(one, one.rows(rows[i]))
	}
	// Direct children come first. Other tables keep the order of the attributes in the type.
	slices.SortStableFunc(view.Tables, func(a, b relatedTable) int {
		return cmp.Compare(view.depth(a.Name), view.depth(b.Name))
	})
	view.offer(v.Member.Oid)
	if err := view.offerParts(v); err != nil {
		return err
	}
	return readAttachments(v, view)
}

// depth returns 0 for a relation to direct children and 1 for other relations.
func (a *asset) depth(name string) int {
	if a.kind.IsDown(a.kind.ByName[name]) {
		return 0
	}
	return 1
}

// toAsk returns the relations to many that the page reads. Relations that repeat other relations,
// or that may have too many assets, become links in v.Further.
func (v *assetView) toAsk() []asked {
	var all []asked
	for _, one := range v.kind.Attributes {
		if !one.ToMany() || one.Name == "History" {
			continue
		}
		label := v.words.Of(one.DisplayName)
		related := v.model.Types[one.RelatedAsset.Nameref]
		_, back, found := strings.Cut(one.ReciprocalRelation.Tokenref, ".")
		if isAttachments(one) {
			continue // attachments have a separate list
		}
		if related == nil || !found && one.IsReadOnly || v.kind.IsClosure(one) || one.Name == "SecuredAssets" {
			v.Further = append(v.Further, furtherList{label, consoleLink(ui.Query{"from": v.Oid, "select": []string{one.Name}})})
			continue
		}
		all = append(all, v.ask(one, related, back))
	}
	return all
}

// sortAsShown sorts a query by the default order of the type. With many assets, this takes
// longer than reading the first rows in any order.
func sortAsShown(q ui.Query, t *ui.Type) {
	if by := t.DefaultOrderBy.Path(); by != "" && t.ByName[by] != nil {
		q["sort"] = []string{by}
	}
}

// isAttachments reports whether a relation has the attachments of an asset.
func isAttachments(a *ui.Attribute) bool {
	return a.ReciprocalRelation.Tokenref == "Attachment.Asset"
}

// ask returns the query for a relation to many. back is the name of the relation from a related
// asset back to this asset. The query selects the related assets by back, and reads one page. If
// back is empty, the query selects the whole relation of this asset.
func (v *assetView) ask(one *ui.Attribute, related *ui.Type, back string) asked {
	a := asked{relation: one, columns: []string{"AssetType"}}
	a.table = v.kind.IsDown(one) || one.IsReadOnly && v.model.IsA(related.Token, "Workitem")
	wanted := []string{"Name", "Number", "AssetState"}
	if a.table {
		wanted = append(wanted, "Status", "ToDo")
	}
	for _, name := range wanted {
		if name == "Status" && related.Has(name) {
			a.columns = append(a.columns, "Status.Name")
		} else if related.Has(name) {
			a.columns = append(a.columns, name)
		}
	}
	if a.within = back == ""; a.within {
		within := ui.Query{"from": one.Name, "select": a.columns}
		a.query = ui.Query{"from": v.Oid, "select": []any{within}, "filter": []string{alsoDeleted}}
		return a
	}
	a.query = ui.Query{"from": related.Token, "where": map[string]string{back: v.Oid}, "select": a.columns, "page": map[string]int{"size": maxListed + 1, "start": 0}}
	if v.kind.IsDown(one) {
		sortAsShown(a.query, related)
	}
	return a
}

// rows returns the rows of the relation from an answer to its query.
func (a asked) rows(answer []row) []row {
	if !a.within {
		return answer
	}
	var found []row
	for _, r := range answer {
		list, _ := r[a.relation.Name].([]any)
		for _, one := range list {
			if values, ok := one.(map[string]any); ok {
				found = append(found, values)
			}
		}
	}
	return found
}

// add adds the rows of a relation to many to the page.
func (v *assetView) add(one asked, found []row) {
	if len(found) == 0 {
		f := fact{Label: v.words.Of(one.relation.DisplayName)}
		if v.makeEditable(&f, one.relation); f.Edit != "" {
			v.NotSet = append(v.NotSet, unset{f.Label, f.Name, f.Edit})
		}
		return
	}
	all := ""
	if len(found) > maxListed {
		found = found[:maxListed]
		delete(one.query, "page")
		all = consoleLink(one.query)
	}
	rows := make([]relatedRow, len(found))
	types := map[string]bool{}
	for i, r := range found {
		rows[i] = relatedOf(r)
		types[rows[i].Type] = true
	}
	label := v.words.Of(one.relation.DisplayName)
	if !one.table {
		people := v.model.IsA(one.relation.RelatedAsset.Nameref, "Member") && len(rows) <= 10
		v.Lists = append(v.Lists, relatedList{Label: label, Name: one.relation.Name, Rows: rows, All: all, people: people})
		return
	}
	v.Tables = append(v.Tables, relatedTable{
		Label: label, Name: one.relation.Name, Rows: rows, All: all, HasType: len(types) > 1,
		HasNumber: slices.Contains(one.columns, "Number"), HasStatus: slices.Contains(one.columns, "Status.Name"), HasToDo: slices.Contains(one.columns, "ToDo"),
	})
}

func relatedOf(r row) relatedRow {
	to, _ := r["_oid"].(string)
	return relatedRow{
		Oid: to, Number: r.text("Number"), Name: ui.RoleName(r.text("Name")), Type: r.text("AssetType"),
		State: r.text("AssetState"), Status: r.text("Status.Name"), ToDo: r.text("ToDo"),
	}
}

// consoleLink returns the path of the console, below the base, with a query.
func consoleLink(q ui.Query) string {
	b, err := json.Marshal(q)
	if err != nil {
		return "/ui/console"
	}
	return ui.Link("", "/ui/console", "path", "query.v1", "request", string(b))
}

// attached is an attachment, or the content of an asset.
type attached struct {
	Oid, ID, Name, Filename, Kind string
	Path                          string // path of the content
	Size                          string
	Picture                       bool
}

// pictures has the content types that a page shows as images. SVG is not included, because it
// can contain scripts.
var pictures = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true, "image/x-icon": true}

// readAttachments reads the attachments of an asset, and the content of the asset itself.
func readAttachments(v *ui.Visit, view *assetView) error {
	if view.kind.ByName["Content"] != nil && view.kind.ByName["Content"].AttributeType == "Blob" {
		one := view.contentOf(view.Oid, view.row)
		measure(v, &one)
		view.Content = &one
	}
	if all := view.kind.ByName["Attachments"]; all == nil || !isAttachments(all) {
		return nil
	}
	var rows []row
	err := v.API.Find([]ui.Query{{
		"from": "Attachment", "where": map[string]string{"Asset": view.Oid}, "select": []string{"Name", "Filename", "ContentType"},
		"page": map[string]int{"size": maxListed, "start": 0},
	}}, &rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		to, _ := r["_oid"].(string)
		one := view.contentOf(to, r)
		measure(v, &one)
		view.Attachments = append(view.Attachments, one)
	}
	if view.Attaches = view.May && !view.Deleted; view.Attaches {
		view.Largest = largestAttachment(v)
		v.Sends("api/asset", `{"AssetType": "Attachment", "Name": "…", "Filename": "…", "ContentType": "…", "Asset": "`+view.Oid+`"}`)
		v.Sends("attachment.img/…", "")
	}
	return nil
}

// largestAttachment returns the size limit of an attachment from the settings, with its unit,
// or "" if it cannot be read.
func largestAttachment(v *ui.Visit) string {
	var config struct{ Settings map[string]string }
	if v.Quiet().Get("config.v1", &config) != nil {
		return ""
	}
	return ui.BytesOf(config.Settings["MaximumAttachmentSize"])
}

func (v *assetView) contentOf(oid string, r row) attached {
	kind, id, _ := strings.Cut(oid, ":")
	path := "attachment.img/"
	if kind == "EmbeddedImage" {
		path = "embedded.img/"
	}
	content, _, _ := strings.Cut(strings.ToLower(r.text("ContentType")), ";")
	return attached{
		Oid: oid, ID: id, Path: path + id, Name: cmp.Or(r.text("Name"), r.text("Filename"), oid), Filename: r.text("Filename"),
		Kind: content, Picture: pictures[strings.TrimSpace(content)],
	}
}

// measure sets the size of an attachment's content with a HEAD request. A picture without
// content is not shown.
func measure(v *ui.Visit, one *attached) {
	quiet := v.Quiet()
	answer, err := quiet.With(nil, http.MethodHead, one.Path, "", nil)
	if err == nil && answer.Status == http.StatusOK {
		one.Size = ui.BytesOf(answer.Header.Get("Content-Length"))
	}
	one.Picture = one.Picture && one.Size != "" && one.Size != ui.BytesOf("0")
}
