package assets

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// historyPage is the tab with the versions of an asset.
type historyPage struct {
	*asset
	Versions []assetVersion
	From, To string // moments of the versions that are compared, or preselected
	Compared *comparison
	Newer    string // paths below the base; empty: no such page
	Older    string
}

// assetVersion is the state of an asset between two moments.
type assetVersion struct {
	Moment, At, Comment string
	By                  ref
	Changes             []string // compared with the previous version, in words
	row                 row
}

// comparison is the difference of two versions.
type comparison struct {
	From, To assetVersion
	Changes  []change
}

// change is an attribute that differs between two versions.
type change struct {
	Label  string
	Pieces []ui.Piece
}

// maxChanges limits the changes that the list shows for a version. maxWord limits the
// characters of each value.
const (
	maxChanges = 6
	maxWord    = 40
)

// isMoment reports whether a text is a moment: a decimal number without a sign or leading
// zeros.
func isMoment(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && text == strconv.FormatInt(n, 10)
}

// showHistory shows the versions of an asset and, if requested, the difference of two versions.
func showHistory(v *ui.Visit, o oid.OID) error {
	a, err := load(v, o.Now())
	if err != nil {
		return err
	}
	start, err := strconv.Atoi(cmp.Or(v.Param("start"), "0"))
	from, to := v.Param("from"), v.Param("to")
	if err != nil || start < 0 || from != "" && !isMoment(from) || to != "" && !isMoment(to) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "start, from and to are whole numbers: from and to the moments of two versions."}
	}
	page := historyPage{asset: a, From: from, To: to}
	if err := readVersions(v, &page, start); err != nil {
		return err
	}
	if from != "" && to != "" {
		if page.Compared, err = compareVersions(v, a, from, to); err != nil {
			return err
		}
	}
	page.preselect()
	return v.Render("history", "History of "+a.title(), page)
}

// preselect sets the two newest versions of the page if the reader has not selected any.
func (p *historyPage) preselect() {
	if p.To == "" && len(p.Versions) > 0 {
		p.To = p.Versions[0].Moment
	}
	if p.From == "" && len(p.Versions) > 1 {
		p.From = p.Versions[1].Moment
	}
}

// readVersions reads one page of versions, the newest first, with the changes of each.
func readVersions(v *ui.Visit, page *historyPage, start int) error {
	rows, err := versionRows(v, page.asset, "", start)
	if err != nil {
		return err
	}
	for i, r := range rows[:min(len(rows), maxListed)] {
		one := versionOf(r)
		if i+1 < len(rows) {
			one.Changes = page.wordsFor(rows[i+1], r)
		} else {
			one.Changes = []string{"created"}
		}
		page.Versions = append(page.Versions, one)
	}
	at := func(start int) string {
		return assetLink(page.Oid, "tab", "history", "start", strconv.Itoa(start))
	}
	if len(rows) > maxListed {
		page.Older = at(start + maxListed)
	}
	if start > 0 {
		page.Newer = at(max(0, start-maxListed))
	}
	return nil
}

// versionRows reads versions with the attributes that are compared. If the answer is too
// large, it reads them again without long values.
func versionRows(v *ui.Visit, a *asset, filter string, start int) ([]row, error) {
	ask := func(long bool) ui.Query {
		q := ui.Query{
			"from": a.Oid, "asof": "All", "select": a.comparedTokens(long), "filter": []string{alsoDeleted}, "sort": []string{"-Moment"},
			"page": map[string]int{"size": maxListed + 1, "start": start},
		}
		if filter != "" {
			q["filter"] = []string{alsoDeleted, filter}
		}
		return q
	}
	var rows []row
	err := v.API.Find([]ui.Query{ask(true)}, &rows)
	if _, other := ui.AsError(err); other != nil && v.Request.Context().Err() == nil {
		rows, a.Cut = nil, true
		err = v.API.Find([]ui.Query{ask(false)}, &rows)
	}
	return rows, err
}

func versionOf(r row) assetVersion {
	return assetVersion{Moment: r.text("Moment"), At: r.text("ChangeDateUTC"), Comment: r.text("ChangeComment"), By: ref{r.oid("ChangedBy"), r.name("ChangedBy")}, row: r}
}

// compared returns the attributes in which versions are compared: all writable attributes, and
// relations that change as an effect of other writes.
func (a *asset) compared() []*ui.Attribute {
	var list []*ui.Attribute
	for _, one := range a.kind.Attributes {
		switch {
		case one.AttributeType == "Password" || one.AttributeType == "Blob" || a.kind.IsClosure(one):
		case !one.IsReadOnly || one.Name == "AssetState" || one.ToOne() && groupOf(one, a.model) != inSystem && one.Name != "Prior":
			list = append(list, one)
		}
	}
	return list
}

// comparedTokens returns the attributes to select for versions. If long is false, it leaves
// out values that may be large.
func (a *asset) comparedTokens(long bool) []string {
	tokens := []string{"Moment", "ChangedBy", "ChangedBy.Name", "ChangeDateUTC", "ChangeComment"}
	for _, one := range a.compared() {
		if !long && (one.IsMultivalue || one.AttributeType == "LongText") {
			continue
		}
		tokens = append(tokens, one.Name)
		if name := a.nameOf(one); name != "" && one.IsRelation() {
			tokens = append(tokens, name)
		}
	}
	return tokens
}

// wordsFor describes the changes of a version in words.
func (a *asset) wordsFor(before, after row) []string {
	var said []string
	more := 0
	for _, one := range a.compared() {
		text := a.wordFor(one, before, after)
		switch {
		case text == "":
		case len(said) == maxChanges:
			more++
		default:
			said = append(said, text)
		}
	}
	if more > 0 {
		said = append(said, "and "+strconv.Itoa(more)+" more")
	}
	return said
}

func (a *asset) wordFor(one *ui.Attribute, before, after row) string {
	label := a.words.Of(one.DisplayName)
	if one.IsMultivalue {
		added, removed := a.changed(one, before, after)
		if len(added)+len(removed) == 0 {
			return ""
		}
		return label + plus(" +", added) + plus(" −", removed)
	}
	was, is, same := a.both(one, before, after)
	switch {
	case same:
		return ""
	case one.AttributeType == "LongText":
		return label
	case was == "":
		return label + ": " + short(is)
	}
	return label + ": " + short(was) + " → " + short(cmp.Or(is, "nothing"))
}

func plus(sign string, names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1, 2, 3:
		return sign + short(strings.Join(names, ","+sign))
	}
	return sign + strconv.Itoa(len(names))
}

// short shortens a value for use in a line.
func short(text string) string {
	if runes := []rune(text); len(runes) > maxWord {
		return string(runes[:maxWord]) + "…"
	}
	return text
}

// shownAs formats a value for people, for use in a line.
func shownAs(one *ui.Attribute, text string) string {
	if one == nil {
		return text
	}
	switch one.AttributeType {
	case "Boolean":
		switch text {
		case "true":
			return "yes"
		case "false":
			return "no"
		}
	case "Date":
		if at, known := dateIn(text); known {
			return at.UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	return text
}

// both returns the values of an attribute in two rows as texts, and whether they are the same.
// For a relation, the texts are names, but the Oids are compared: the related asset may have
// been renamed, and two assets can have the same name.
func (a *asset) both(one *ui.Attribute, before, after row) (was, is string, same bool) {
	if !one.IsRelation() {
		was, is = before.text(one.Name), after.text(one.Name)
		return shownAs(one, was), shownAs(one, is), was == is
	}
	from, to := before.oid(one.Name), after.oid(one.Name)
	was, is = cmp.Or(before.name(one.Name), from), cmp.Or(after.name(one.Name), to)
	if was == is && from != to {
		was, is = was+" ("+from+")", is+" ("+to+")"
	}
	return was, is, from == to
}

// changed returns the names of the values that were added to and removed from a multi-value
// attribute.
func (a *asset) changed(one *ui.Attribute, before, after row) (added, removed []string) {
	if !one.IsRelation() {
		was, is := before.list(one.Name), after.list(one.Name)
		return minus(is, was), minus(was, is)
	}
	names := map[string]string{}
	for _, r := range []row{before, after} {
		for _, to := range refsOf(r.list(one.Name), r.list(one.Name+".Name")) {
			names[to.Oid] = cmp.Or(to.Name, to.Oid)
		}
	}
	was, is := before.list(one.Name), after.list(one.Name)
	for _, to := range minus(is, was) {
		added = append(added, names[to])
	}
	for _, to := range minus(was, is) {
		removed = append(removed, names[to])
	}
	return added, removed
}

// minus returns the texts of a list that are not in the other list.
func minus(list, without []string) []string {
	has := make(map[string]bool, len(without))
	for _, text := range without {
		has[text] = true
	}
	var rest []string
	for _, text := range list {
		if !has[text] {
			rest = append(rest, text)
		}
	}
	return rest
}

// compareVersions reads two versions and returns their differences. Errors: *ui.Error, 404 if
// one of the versions does not exist.
func compareVersions(v *ui.Visit, a *asset, from, to string) (*comparison, error) {
	rows, err := versionRows(v, a, "Moment='"+from+"','"+to+"'", 0)
	if err != nil {
		return nil, err
	}
	found := map[string]assetVersion{}
	for _, r := range rows {
		found[r.text("Moment")] = versionOf(r)
	}
	before, hasBefore := found[from]
	after, hasAfter := found[to]
	if !hasBefore || !hasAfter {
		return nil, &ui.Error{Status: http.StatusNotFound, Message: "The asset does not have both versions."}
	}
	c := &comparison{From: before, To: after}
	var d ui.Differences
	for _, one := range a.compared() {
		if pieces := a.piecesFor(one, before.row, after.row, &d); pieces != nil {
			c.Changes = append(c.Changes, change{a.words.Of(one.DisplayName), pieces})
		}
	}
	return c, nil
}

// piecesFor returns the difference of an attribute, or nil if there is none.
func (a *asset) piecesFor(one *ui.Attribute, before, after row, d *ui.Differences) []ui.Piece {
	var added, removed []string
	if one.IsMultivalue {
		added, removed = a.changed(one, before, after)
	} else {
		was, is, same := a.both(one, before, after)
		switch {
		case same:
			return nil
		case one.AttributeType == "LongText" || one.AttributeType == "Text":
			return d.Of(was, is)
		}
		if was != "" {
			removed = []string{was}
		}
		added = []string{cmp.Or(is, "nothing")}
	}
	var pieces []ui.Piece
	for _, name := range removed {
		pieces = append(pieces, ui.Piece{Text: name, Removed: true}, ui.Piece{Text: " "})
	}
	for _, name := range added {
		pieces = append(pieces, ui.Piece{Text: name, Added: true}, ui.Piece{Text: " "})
	}
	return pieces
}
