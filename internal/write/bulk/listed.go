package bulk

import (
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/write/asset"
)

// listed counts the list values that a request adds, removes or sets. List values are values of
// attributes and relations that can have several values. A value counts once for each asset to
// which it is written. Values in the payload are counted before their steps are made. Values from
// a query are counted when the query is answered.
type listed struct {
	most  int // the largest allowed value of taken
	taken int // number of values counted so far
}

func (e *Engine) newListed() *listed { return &listed{most: asset.MaxEdgesByAsset * e.MaxAssets} }

// take adds the values of a number of assets to the count. The parameter each is the number of
// values per asset.
// Errors: asset.TooManyEdges if the limit is exceeded.
func (l *listed) take(assets, each int) error {
	if each > 0 && assets > (l.most-l.taken)/each {
		return asset.TooManyEdges(l.most)
	}
	l.taken += assets * each
	return nil
}

// listedInUpdate counts the list values of an update command.
func listedInUpdate(n *document.Node) int {
	update, _ := n.Get("update")
	if update == nil {
		return 0
	}
	return listedIn(update)
}

// listedIn counts the list values of attributes and of the creates nested in them.
func listedIn(attributes *document.Node) (count int) {
	for i := range attributes.Items {
		switch v := &attributes.Items[i]; v.Kind {
		case document.List:
			count += listedInList(v)
		case document.Map:
			count += listedInMap(v)
		}
	}
	return count
}

func listedInList(list *document.Node) (count int) {
	for i := range list.Items {
		if _, create, ok := nestedCreate(&list.Items[i]); ok {
			count += listedIn(create)
		} else {
			count++
		}
	}
	return count
}

// listedInMap counts the list values of {add, remove} and of {"Member:20": "add"}.
func listedInMap(n *document.Node) (count int) {
	if _, create, ok := nestedCreate(n); ok {
		return listedIn(create)
	}
	if isSubquery(n) {
		return 0
	}
	for i, name := range n.Keys {
		v := &n.Items[i]
		switch {
		case v.Kind == document.List:
			count += listedInList(v)
		case v.Kind == document.Map:
			count += listedInMap(v)
		case name == "add", name == "remove", v.Text == "add", v.Text == "remove":
			count++
		}
	}
	return count
}
