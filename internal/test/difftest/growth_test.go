package difftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// grower creates random bulk requests. Many of their commands fail, for example because of a cycle in a
// tree, or because the state of an asset does not allow an operation. Both databases must then fail in the
// same way.
type grower struct {
	*rand.Rand
	m      *meta.Model
	assets []string // Oids of all created assets, deleted or not, and of wellKnown
}

// births are the types of new assets. A type that is listed several times is chosen more often.
var births = strings.Fields(`Scope Scope Story Story Story Story Story Defect Defect Task Task Task Test Test Epic Epic Epic
	Theme Theme Member Member Timebox Schedule Issue Issue Goal Request Note Note Link Actual Actual Team Retrospective
	TestSet RegressionPlan RegressionSuite StoryStatus TaskStatus BuildProject Message Conversation Expression TeamRoom
	Custom_OriginType Custom_OriginType`)

// founders are the types of the first assets, which later assets refer to.
var founders = strings.Fields("Schedule Scope Scope Scope Member Member Team RegressionPlan RegressionSuite Timebox Theme Custom_OriginType Epic Story Defect Task Test")

// founder is the only administrator at the start.
const founder = "Member:20"

// wellKnown are assets that exist in every new database, so that relations may refer to them.
var wellKnown = strings.Fields(`Scope:0 Member:20 Role:1 Role:4 Role:8 State:100 State:101 State:102 StoryStatus:133
	StoryStatus:134 StoryStatus:135 TaskStatus:123 TaskStatus:125 TestStatus:129 WorkitemPriority:138 WorkitemPriority:140
	StorySource:148 EpicCategory:208 EpicCategory:209 IssuePriority:159 GoalCategory:190 WorkitemRisk:141 Scheme:1001`)

func newGrower(r *rand.Rand, m *meta.Model) *grower {
	return &grower{r, m, slices.Clone(wellKnown)}
}

// learn remembers the assets that a request has created.
func (g *grower) learn(oids []string) { g.assets = append(g.assets, oids...) }

// request returns the body of a request with n random commands.
func (g *grower) request(n int) []byte {
	commands := make([]map[string]any, n)
	for i := range commands {
		commands[i] = g.command()
	}
	b, err := json.Marshal(commands)
	must(err)
	return b
}

func (g *grower) command() map[string]any {
	switch g.IntN(20) {
	case 0, 1, 2, 3, 4, 5, 6, 7, 8:
		return g.birth(births[g.IntN(len(births))])
	case 9:
		o := g.target("BaseAsset")
		t := g.typeOf(o)
		op := t.Ops[g.IntN(len(t.Ops))]
		c := map[string]any{"from": o, "execute": op.Name}
		if op.Effect.Code != "" && op.Name != "QuickClose" && op.Name != "QuickSignup" {
			c["execute"] = "Delete"
		}
		return c
	case 10:
		return map[string]any{"from": g.target("BaseAsset"), "where": map[string]any{"IsDeleted": "true"}, "execute": "Undelete"}
	}
	o := g.target([]string{"BaseAsset", "Workitem", "Workitem", "PrimaryWorkitem", "Scope", "Epic", "Note"}[g.IntN(7)])
	if o == "" {
		return g.command()
	}
	return map[string]any{"from": o, "update": g.changes(g.typeOf(o))}
}

// target returns a random asset that a command may change in any way. It never returns founder. A payload
// that leaves no administrator is refused as a whole, and the two databases would then number later assets
// differently.
func (g *grower) target(typ string) string {
	for {
		if o := g.asset(typ); o != founder {
			return o
		}
	}
}

// birth returns a command that creates an asset, with its required attributes and some others.
func (g *grower) birth(name string) map[string]any {
	t, _ := g.m.Type(name)
	c := map[string]any{"AssetType": name}
	for _, a := range t.Attrs {
		if !writable(a) {
			continue
		}
		always := a.Required || a.Name == "AuthoredAt" || a.Name == "Super" || a.Name == "Estimate" || a.Name == "Order"
		if always || g.IntN(5) == 0 || a.Custom && g.IntN(3) == 0 {
			if v := g.value(a); v != nil {
				c[a.Name] = v
			}
		}
	}
	return c
}

// changes returns random values for one to three attributes of an asset.
func (g *grower) changes(t *meta.Type) map[string]any {
	var can []*meta.Attr
	for _, a := range t.Attrs {
		if writable(a) {
			can = append(can, a)
		}
		// These relations matter most, so they change more often.
		if a.Name == "Parent" || a.Name == "Super" || a.Name == "Scope" || a.Name == "Owners" {
			can = append(can, a, a, a)
		}
	}
	c := map[string]any{}
	for range 1 + g.IntN(3) {
		a := can[g.IntN(len(can))]
		v := g.value(a)
		switch {
		case v == nil && g.IntN(3) > 0:
			continue
		case a.Multi && v != nil && g.IntN(3) == 0:
			v = map[string]any{"remove": v}
		case a.Multi && v == nil:
			continue
		}
		c[a.Name] = v
	}
	return c
}

func writable(a *meta.Attr) bool {
	if a.ReadOnly && a.Place.Kind != meta.Reverse || a.Kind == meta.Password || a.Name == "Username" || a.Kind == meta.Blob {
		return false
	}
	switch a.Place.Kind {
	case meta.InColumn, meta.InAttrs, meta.InValues, meta.InLinks:
		return true
	case meta.InLinksBack, meta.Reverse:
		return a.Multi
	}
	return false
}

func (g *grower) typeOf(o string) *meta.Type {
	x, err := oid.Parse(o)
	must(err)
	t, _ := g.m.Type(x.Type)
	return t
}

// asset returns the Oid of a random asset of a type or its subtypes, or "" if there is none.
func (g *grower) asset(typ string) string {
	t, _ := g.m.Type(typ)
	var fit []string
	for _, o := range g.assets {
		if g.typeOf(o).IsA(t) {
			fit = append(fit, o)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return fit[g.IntN(len(fit))]
}

// taken returns the name of a type that a relation accepts.
func (g *grower) taken(a *meta.Attr) string {
	if len(a.Among) > 0 {
		return a.Among[g.IntN(len(a.Among))].Name
	}
	return a.Related.Name
}

// value returns a random value for an attribute, as it is written in a payload. nil stands for null.
func (g *grower) value(a *meta.Attr) any {
	switch {
	case a.Kind == meta.Relation && a.Multi:
		list := make([]string, 1+g.IntN(3))
		for i := range list {
			if list[i] = g.asset(g.taken(a)); list[i] == "" {
				return nil
			}
		}
		return list
	case a.Kind == meta.Relation:
		o := g.asset(g.taken(a))
		if o == "" {
			return nil
		}
		return o
	case a.Multi:
		return []any{g.scalar(a), g.scalar(a)}
	case !a.Required && a.Default == "" && a.Kind != meta.Rank && g.IntN(6) == 0:
		return nil
	}
	return g.scalar(a)
}

func (g *grower) scalar(a *meta.Attr) any {
	switch a.Kind {
	case meta.Boolean:
		return g.IntN(2) == 0
	case meta.Numeric:
		return []any{0, 1, 2, 3, 5, 8, 0.5, 1.25, 2.5, -1, 100.125, 1000000}[g.IntN(12)]
	case meta.LongInt:
		return g.IntN(12)
	case meta.Rank:
		return rank(g.Rand) + []string{"+", "-"}[g.IntN(2)]
	case meta.State:
		return []int{0, 64, 128}[g.IntN(3)]
	case meta.Date:
		return days[g.IntN(len(days))]
	case meta.Duration:
		return fmt.Sprintf("%d %s", 1+g.IntN(4), []string{"Days", "Weeks", "Months"}[g.IntN(3)])
	case meta.GUID:
		return "00000000-0000-4000-8000-00000000000" + string('0'+rune(g.IntN(10)))
	}
	return g.text()
}

// rank returns a random rank in the range in which assets have ranks.
func rank(g *rand.Rand) string { return strconv.Itoa(1<<24 + g.IntN(3000)) }

var days = strings.Fields("2025-12-31 2026-01-01 2026-01-02 2026-02-28 2026-03-01 2027-01-01")

// words are the texts from which random texts are composed.
var words = []string{
	"a", "A", "b", "B", "ab", "Ab", "á", "Á", "ß", "ss", "Zoë", "zoe", "O'Brien", `say "hi"`, "100%", "a_b", "x|y", "a*", "*",
	"\\", "\\n", "日本", "😀", "🎉", "ﬁ", "fi", "0", "10", "9", "true", "null", "$", "$x", "a;b", "a,b", "[a]", "Æ", "ae", "é", "é", "-", "ı", "I", "i",
	"😁", "e\u0301", "É", "E\u0301", "ẞ", "ſ", "s", "K", "k", "Σ", "σ", "ς", "か", "が", "か\u3099", "カ", "a\u200b", "\u200b", "ﬃ", "ffi",
	"Ა", "ა", "Ꭰ", "ꭰ", "𐐀", "𐐨", "µ", "μ", "İ", "한", "\u1112\u1161\u11ab", "ậ", "a\u0302\u0323",
}

func (g *grower) text() string {
	var b strings.Builder
	for i := range 1 + g.IntN(2) {
		if i > 0 && g.IntN(2) == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[g.IntN(len(words))])
	}
	switch g.IntN(12) {
	case 0:
		b.WriteString("  ")
	case 1:
		return strings.ToUpper(b.String())
	}
	return b.String()
}
