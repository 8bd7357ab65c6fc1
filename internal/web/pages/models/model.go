package models

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxFound limits the results of a search of the model.
const maxFound = 200

// modelPage is the overview of the model: the tree of types, or the results of a search.
type modelPage struct {
	Search string
	Tree   []*typeBranch
	Found  []hit
	More   bool // there are more results than Found has
	Types  int
}

// showModel serves GET ui/model and GET meta.v1?xsl=….
func showModel(v *ui.Visit) error {
	var page modelPage
	var err error
	if page.Search, err = sought(v, "q"); err != nil {
		return err
	}
	m, err := readModel(v, page.Search != "")
	if err != nil {
		return err
	}
	page.Types = len(m.types)
	if page.Search == "" {
		page.Tree = m.tree()
	} else {
		page.Found = m.search(page.Search)
		if page.More = len(page.Found) > maxFound; page.More {
			page.Found = page.Found[:maxFound]
		}
	}
	if v.IsPart() {
		return v.RenderPart("model", "found", page)
	}
	return v.Render("model", "Model", page)
}

// maxSought limits the bytes of a search text, because every name in the model is compared
// with it.
const maxSought = 200

// sought returns the search text of a parameter. Errors: *ui.Error.
func sought(v *ui.Visit, name string) (string, error) {
	text := v.Param(name)
	if !utf8.ValidString(text) {
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "The search text is not valid UTF-8."}
	}
	if len(text) > maxSought {
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "Search for a shorter text: names have at most 67 characters."}
	}
	return text, nil
}

// typeBranch is a type in the tree with its subtypes.
type typeBranch struct {
	*modelType
	Below []*typeBranch
	Open  bool // show its subtypes at first
}

// Counts returns a text with the number of attributes and operations that the type itself
// declares.
func (t *modelType) Counts() string {
	var all []string
	if t.IsCustom {
		all = append(all, "custom")
	}
	if t.Attributes > 0 {
		all = append(all, ui.Counted(t.Attributes, "attribute", "attributes"))
	}
	if t.Operations > 0 {
		all = append(all, ui.Counted(t.Operations, "operation", "operations"))
	}
	return strings.Join(all, ", ")
}

// tree returns the types without a base, each with all of its subtypes, in the order of
// rankOf.
func (m *model) tree() []*typeBranch {
	all := map[string]*typeBranch{}
	for _, t := range m.types {
		all[t.Name] = &typeBranch{modelType: t, Open: true}
	}
	var top []*typeBranch
	for _, t := range m.types {
		if above := all[t.Base]; above != nil && t.Base != t.Name {
			above.Below = append(above.Below, all[t.Name])
		} else {
			top = append(top, all[t.Name])
		}
	}
	for _, b := range all {
		slices.SortFunc(b.Below, func(a, c *typeBranch) int { return cmp.Compare(a.Name, c.Name) })
	}
	for _, b := range top {
		b.Open = b.Name == "BaseAsset" // List has many subtypes, and few readers need the types that describe the model
	}
	slices.SortFunc(top, func(a, b *typeBranch) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Name, b.Name))
	})
	return top
}

// rankOf returns the position in the tree: the base of most types first, then lists, then the
// types that describe the model.
func rankOf(b *typeBranch) int {
	switch {
	case b.Name == "BaseAsset":
		return 0
	case b.Name == "List":
		return 1
	case len(b.Below) > 0:
		return 2
	}
	return 3
}
