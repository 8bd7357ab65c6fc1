package hiddentest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// maker makes random requests. They use Oids of visible assets, and of assets that are hidden in one of the
// services.
type maker struct {
	*rand.Rand
	seen, hidden []string // Oids
	names        []string // names of hidden assets of both services
	writers      []string // Oids of callers
	moments      []moment
	made         []string // Oids of assets that requests created in both services
	marks        int      // how many points in time mark has stored
	n            int      // number of new names so far
	nesting      int
}

// moment is the moment of a version of an asset. In one of the services, the asset may be hidden or not exist.
type moment struct {
	oid string
	at  int64
}

func newMaker(r *rand.Rand, services [2]*service) *maker {
	g := &maker{Rand: r}
	all := [2]map[string]bool{{}, {}}
	for _, s := range services {
		for label, o := range s.oids {
			if strings.HasPrefix(label, "hidden") || strings.HasPrefix(label, "cap") || label == "vault" {
				all[0][o] = true
			} else {
				all[1][o] = true
			}
		}
		g.names = append(g.names, s.told...)
	}
	for name := range callers {
		g.writers = append(g.writers, services[0].oids[name])
	}
	slices.Sort(g.writers)
	g.hidden, g.seen = slices.Sorted(maps.Keys(all[0])), slices.Sorted(maps.Keys(all[1]))
	return g
}

func (g *maker) chance(percent int) bool { return g.IntN(100) < percent }

func one[T any](g *maker, all []T) T { return all[g.IntN(len(all))] }

// oneOf returns a random word of the text.
func (g *maker) oneOf(text string) string { return one(g, strings.Fields(text)) }

// typeOf returns the type of the asset with an Oid.
func typeOf(token string) *meta.Type {
	name, _, _ := strings.Cut(token, ":")
	t, _ := model.Type(name)
	return t
}

// oid returns the Oid of an asset of type t, or of any type if t is nil. The asset is visible, or hidden in
// one of the services. Rarely it does not exist.
func (g *maker) oid(t *meta.Type) string {
	for range 8 {
		from := g.seen
		switch n := g.IntN(10); {
		case n < 4:
			from = g.hidden
		case n < 6 && len(g.made) > 0:
			from = g.made
		}
		var fit []string
		for _, o := range from {
			if t == nil || typeOf(o).IsA(t) {
				fit = append(fit, o)
			}
		}
		if len(fit) > 0 {
			return g.spelled(one(g, fit))
		}
	}
	name := "Story"
	if t != nil {
		name = one(g, t.Concrete).Name
	}
	return name + ":" + strconv.Itoa(1000+g.IntN(7*partIDs))
}

// spelled returns an Oid in one of the forms that clients use: sometimes with a moment, or with the parent
// type instead of the type.
func (g *maker) spelled(o string) string {
	switch g.IntN(20) {
	case 0:
		_, id, _ := strings.Cut(o, ":")
		if up := typeOf(o).Parent; up != nil {
			return up.Name + ":" + id
		}
	case 1:
		return o + ":" + strconv.Itoa(1000+g.IntN(7*partIDs))
	}
	return o
}

// name returns the name of a hidden or visible asset, or the beginning of such a name.
func (g *maker) name() string {
	s := g.oneOf("Mine Sub lee pal Sprint Crew Rhythm common tag0 tag1 hello seen Vex Qua admin")
	switch n := g.IntN(10); {
	case n < 5:
		s = one(g, g.names)
	case n < 8:
		s = g.oneOf("Epic Story Task Defect Goal Issue Request Test") + " " + strconv.Itoa(g.IntN(4))
	}
	if g.chance(15) {
		s = s[:1+g.IntN(len(s))]
	}
	return s
}

// number returns a random Number in the form that Numbers of assets have, such as S-1001.
func (g *maker) number() string {
	return g.oneOf("S- D- E- TK- AT- I- R- G- TH- RP-") + strconv.Itoa(1001+g.IntN(3)*partIDs+g.IntN(20))
}

// newName returns a name that no asset has yet.
func (g *maker) newName() string {
	g.n++
	return "New " + strconv.Itoa(g.n)
}
