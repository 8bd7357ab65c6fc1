package bulk

import (
	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/write/asset"
)

// listed counts the values of lists that a request adds, removes or sets, for each asset that
// gets them: those of its text before they are made, those that queries find as they come.
type listed struct {
	most  int
	taken int
}

func (e *Engine) newListed() *listed { return &listed{most: asset.MaxEdgesByAsset * e.MaxAssets} }

// take counts so many values for each of so many assets. Errors: asset.TooManyEdges.
func (l *listed) take(assets, each int) error {
	if each > 0 && assets > (l.most-l.taken)/each {
		return asset.TooManyEdges(l.most)
	}
	l.taken += assets * each
	return nil
}

// listedInUpdate counts the values of the lists of an update.
func listedInUpdate(n *doc.Node) int {
	update, _ := n.Get("update")
	if update == nil {
		return 0
	}
	return listedIn(update)
}

// listedIn counts the values of the lists of attributes, and of those of the creates nested in
// them.
func listedIn(attributes *doc.Node) (count int) {
	for i := range attributes.Items {
		switch v := &attributes.Items[i]; v.Kind {
		case doc.List:
			count += listedInList(v)
		case doc.Map:
			count += listedInMap(v)
		}
	}
	return count
}

func listedInList(list *doc.Node) (count int) {
	for i := range list.Items {
		if _, create, ok := nestedCreate(&list.Items[i]); ok {
			count += listedIn(create)
		} else {
			count++
		}
	}
	return count
}

// listedInMap counts those of {add, remove} and of {"Member:20": "add"}.
func listedInMap(n *doc.Node) (count int) {
	if _, create, ok := nestedCreate(n); ok {
		return listedIn(create)
	}
	if isSubquery(n) {
		return 0
	}
	for i, name := range n.Keys {
		v := &n.Items[i]
		switch {
		case v.Kind == doc.List:
			count += listedInList(v)
		case v.Kind == doc.Map:
			count += listedInMap(v)
		case name == "add", name == "remove", v.Text == "add", v.Text == "remove":
			count++
		}
	}
	return count
}
