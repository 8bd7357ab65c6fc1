package pages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// relatedTable are children and parts of an asset.
type relatedTable struct {
	Label, Name string
	Rows        []relatedRow
	HasNumber   bool
	HasStatus   bool
	HasToDo     bool
	HasType     bool   // assets of several types
	All         string // console: all of them, where there are more
}

// relatedList are other assets that a relation leads to.
type relatedList struct {
	Label, Name string
	Rows        []relatedRow
	All         string
	people      bool
}

// furtherList is a relation that a page does not read, since it says nothing new or has
// no bound.
type furtherList struct{ Label, All string }

// relatedRow is an asset that a relation leads to.
type relatedRow struct {
	Oid, Number, Name, Type, State, Status, ToDo string
}

// fact shows a short list among other values.
func (l relatedList) fact() fact {
	f := fact{Label: l.Label, All: l.All}
	for _, r := range l.Rows {
		f.Refs = append(f.Refs, ref{r.Oid, r.Name})
	}
	return f
}

// asked is a relation to many with the query that reads it.
type asked struct {
	relation *describedAttribute
	table    bool
	columns  []string
	query    query
}

// readAround reads what other assets say of an asset: children, parts, attachments and
// all other relations to many, in one request.
func (v *visit) readAround(view *assetView) error {
	all := view.toAsk()
	queries := make([]query, len(all))
	rows := make([][]row, len(all))
	into := make([]any, len(all))
	for i, one := range all {
		queries[i], into[i] = one.query, &rows[i]
	}
	if len(queries) > 0 {
		if err := v.api.find(queries, into...); err != nil {
			return err
		}
	}
	for i, one := range all {
		view.add(one, rows[i])
	}
	// Children before what is only planned here, as the type declares them.
	slices.SortStableFunc(view.Tables, func(a, b relatedTable) int {
		return cmp.Compare(view.depth(a.Name), view.depth(b.Name))
	})
	view.offer()
	return v.readAttachments(view)
}

// depth is 0 for relations to what stands right below the asset.
func (a *asset) depth(name string) int {
	if a.kind.isDown(a.kind.byName[name]) {
		return 0
	}
	return 1
}

// toAsk are the relations to many that a page reads, bounded.
func (v *assetView) toAsk() []asked {
	var all []asked
	for _, one := range v.kind.Attributes {
		if !one.toMany() || one.Name == "History" {
			continue
		}
		label := v.words.of(one.DisplayName)
		related := v.model.types[one.RelatedAsset.Nameref]
		_, back, found := strings.Cut(one.ReciprocalRelation.Tokenref, ".")
		if one.isAttachments() {
			continue // which have a list of their own
		}
		if related == nil || !found || v.kind.isClosure(one) || one.Name == "SecuredAssets" {
			v.Further = append(v.Further, furtherList{label, consoleLink(query{"from": v.Oid, "select": []string{one.Name}})})
			continue
		}
		all = append(all, v.ask(one, related, back))
	}
	return all
}

// sort has a query sort by what assets of a type are sorted by: where there may be many,
// that takes longer than to find the first ones.
func (d *described) sort(q query, t *describedType) {
	if by := t.DefaultOrderBy.path(); by != "" && t.byName[by] != nil {
		q["sort"] = []string{by}
	}
}

// isAttachments reports whether a relation leads to what is attached to an asset.
func (a *describedAttribute) isAttachments() bool {
	return a.ReciprocalRelation.Tokenref == "Attachment.Asset"
}

// ask makes the query for a relation to many: from its other side, which pages can
// bound.
func (v *assetView) ask(one *describedAttribute, related *describedType, back string) asked {
	a := asked{relation: one, columns: []string{"AssetType"}}
	a.table = v.kind.isDown(one) || one.IsReadOnly && v.model.isA(related.Token, "Workitem")
	wanted := []string{"Name", "Number", "AssetState"}
	if a.table {
		wanted = append(wanted, "Status", "ToDo")
	}
	for _, name := range wanted {
		if name == "Status" && related.has(name) {
			a.columns = append(a.columns, "Status.Name")
		} else if related.has(name) {
			a.columns = append(a.columns, name)
		}
	}
	a.query = query{"from": related.Token, "where": map[string]string{back: v.Oid}, "select": a.columns, "page": map[string]int{"size": maxListed + 1, "start": 0}}
	if v.kind.isDown(one) {
		v.model.sort(a.query, related)
	}
	return a
}

// add takes the rows of a relation to many.
func (v *assetView) add(one asked, found []row) {
	if len(found) == 0 {
		if !one.relation.IsReadOnly {
			v.NotSet = append(v.NotSet, v.words.of(one.relation.DisplayName))
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
	label := v.words.of(one.relation.DisplayName)
	if !one.table {
		people := v.model.isA(one.relation.RelatedAsset.Nameref, "Member") && len(rows) <= 10
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
		Oid: to, Number: r.text("Number"), Name: r.text("Name"), Type: r.text("AssetType"),
		State: r.text("AssetState"), Status: r.text("Status.Name"), ToDo: r.text("ToDo"),
	}
}

// consoleLink is the path, below the base, of the console with a query.
func consoleLink(q query) string {
	b, err := json.Marshal(q)
	if err != nil {
		return "/ui/console"
	}
	return link("", "/ui/console", "path", "query.v1", "request", string(b))
}

// attached is an attachment, or the content of an asset that has one.
type attached struct {
	Oid, ID, Name, Filename, Kind string
	Path                          string // of its bytes
	Size                          string
	Picture                       bool
}

// pictures are the contents that a page shows. Pictures that can hold scripts are not
// among them.
var pictures = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true, "image/x-icon": true}

// readAttachments reads what is attached to an asset, and the asset's own content.
func (v *visit) readAttachments(view *assetView) error {
	if view.kind.byName["Content"] != nil && view.kind.byName["Content"].AttributeType == "Blob" {
		one := view.contentOf(view.Oid, view.row)
		v.measure(&one)
		view.Content = &one
	}
	if all := view.kind.byName["Attachments"]; all == nil || !all.isAttachments() {
		return nil
	}
	var rows []row
	err := v.api.find([]query{{
		"from": "Attachment", "where": map[string]string{"Asset": view.Oid}, "select": []string{"Name", "Filename", "ContentType"},
		"page": map[string]int{"size": maxListed, "start": 0},
	}}, &rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		to, _ := r["_oid"].(string)
		one := view.contentOf(to, r)
		v.measure(&one)
		view.Attachments = append(view.Attachments, one)
	}
	view.Attaches = view.May && !view.Deleted
	return nil
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

// measure asks for the size of a content.
func (v *visit) measure(one *attached) {
	quiet := v.asking(v.api.authorization)
	answer, err := quiet.with(nil, http.MethodHead, one.Path, "", nil)
	if err == nil && answer.status == http.StatusOK {
		one.Size = bytesOf(answer.header.Get("Content-Length"))
	}
	one.Picture = one.Picture && one.Size != "" && one.Size != bytesOf("0")
}
