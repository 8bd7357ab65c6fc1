package assets

import "github.com/alds-dev/alds/internal/web/ui"

// totals are numbers that the service computes from an asset and everything below it. They can
// take longer than the rest of the page, so the script requests them after the page is shown.
type totals struct {
	Part  string // path of the HTML section with the totals, without the base; the script requests it
	Path  string // path of the page with the totals, without the base
	Facts []fact
	Known bool // Facts has been read
}

// isTotal reports whether an attribute is computed from numbers, possibly of many assets.
func isTotal(a *ui.Attribute) bool {
	return a.IsReadOnly && a.AttributeType == "Numeric" && a.Name != "Days"
}

// showTotals serves GET ui/asset/<Oid>/totals: only the part of the page with the totals.
func showTotals(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	if !v.IsPart() {
		return v.Redirect(assetLink(o.Now().String(), "totals", "1"))
	}
	a, err := load(v, o.Now())
	if err != nil {
		return err
	}
	view := assetView{asset: a}
	if view.Totals, err = readTotals(v, a, true); err != nil {
		return err
	}
	return v.RenderPart("asset", "totals", view)
}

// readTotals reads the totals if read is true. Otherwise it returns only the paths. It returns
// nil if the type has no totals.
func readTotals(v *ui.Visit, a *asset, read bool) (*totals, error) {
	var tokens []string
	for _, one := range a.kind.Attributes {
		if isTotal(one) {
			tokens = append(tokens, one.Name)
		}
	}
	if len(tokens) == 0 {
		return nil, nil //nolint:nilnil // the type has no totals
	}
	t := &totals{Part: "/ui/asset/" + a.Oid + "/totals", Path: assetLink(a.Oid, "totals", "1"), Known: read}
	if !read {
		return t, nil
	}
	var rows []row
	if err := v.API.Find([]ui.Query{{"from": a.Oid, "select": tokens, "filter": []string{alsoDeleted}}}, &rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		for _, name := range tokens {
			if text := r.text(name); text != "" {
				t.Facts = append(t.Facts, fact{Label: a.words.Of(a.kind.ByName[name].DisplayName), Text: text})
			}
		}
	}
	return t, nil
}
