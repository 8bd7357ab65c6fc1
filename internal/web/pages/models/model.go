package models

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxFound is how many places a search of the model shows.
const maxFound = 200

// modelPage is what the overview of the model shows: the tree of types, or what a
// search has found.
type modelPage struct {
	Search string
	Tree   []*typeBranch
	Found  []hit
	More   bool // there are more than Found
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

// maxSought is how many bytes a text may have that is searched for: each name of the
// model is compared with it.
const maxSought = 200

// sought returns a text that is searched for. Errors: *ui.Error.
func sought(v *ui.Visit, name string) (string, error) {
	text := v.Param(name)
	if !utf8.ValidString(text) {
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "What is searched for is no text."}
	}
	if len(text) > maxSought {
		return "", &ui.Error{Status: http.StatusBadRequest, Message: "Search for a shorter text: names have at most 67 characters."}
	}
	return text, nil
}

// typeBranch is a type in the tree, with the types below it.
type typeBranch struct {
	*modelType
	Below []*typeBranch
	Open  bool // its types are shown at once
}

// Counts says how much the type declares itself.
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

// tree returns the types without a type above them, with all that lie below: first
// those that have some below.
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
		b.Open = b.Name == "BaseAsset" // of lists there are many, and few look at what describes the model
	}
	slices.SortFunc(top, func(a, b *typeBranch) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Name, b.Name))
	})
	return top
}

// rankOf puts what people work with before all else: the base of most types, then lists,
// then the types that describe the model.
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
