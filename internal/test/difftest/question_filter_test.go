package difftest

import (
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
)

// filter returns a random filter for assets of type t. terms is the highest number of terms at each level,
// depth the highest number of levels of parentheses.
func (q *questioner) filter(t *meta.Type, terms, depth int) string {
	var b strings.Builder
	for i := range 1 + q.IntN(terms) {
		if i > 0 {
			b.WriteString([]string{";", "|", "&"}[q.IntN(3)])
		}
		if depth > 0 && q.chance(15) {
			b.WriteString("(" + q.filter(t, terms, depth-1) + ")")
			continue
		}
		b.WriteString(q.term(t, depth))
	}
	return b.String()
}

// term returns one random comparison, or a test whether a value exists.
func (q *questioner) term(t *meta.Type, depth int) string {
	p := q.path(t, min(1+depth, 3), tested)
	switch q.IntN(12) {
	case 0:
		return "+" + p.text
	case 1:
		return "-" + p.text
	case 2:
		return p.text
	}
	op := q.operator(p.kind)
	if p.kind == meta.Relation && q.chance(15) && q.brackets < 2 {
		return p.text + op + "$"
	}
	if q.chance(15) {
		return p.text + op + q.variable(p, t, op)
	}
	var list []string
	for range 1 + q.IntN(2)*q.IntN(3) {
		list = append(list, q.quote(q.literal(p, t, op == "=" || op == "!=")))
	}
	return p.text + op + strings.Join(list, ",")
}

// variable adds a variable with random values to the query. It returns the name of the variable, for a
// comparison with the path.
func (q *questioner) variable(p path, t *meta.Type, op string) string {
	name := "v" + strconv.Itoa(len(q.with))
	v := q.literal(p, t, op == "=" || op == "!=")
	w := q.literal(p, t, op == "=" || op == "!=")
	switch {
	case q.chance(50) || strings.Contains(v, ","):
		q.with["$"+name] = []string{v, w}
	default:
		q.with["$"+name] = v
	}
	return "$" + name
}

// operator returns a random operator that is allowed for a kind.
func (q *questioner) operator(k meta.Kind) string {
	ops := []string{"=", "=", "!="}
	switch {
	case isText(k):
		ops = append(ops, "~=", "~=", "<", ">", "<=", ">=")
	case k == meta.Numeric || k == meta.Rank || k == meta.LongInt || k == meta.Date || k == meta.State || k == meta.Opaque:
		ops = append(ops, "<", ">", "<=", ">=")
	}
	return ops[q.IntN(len(ops))]
}

func isText(k meta.Kind) bool {
	switch k {
	case meta.Text, meta.LongText, meta.LocalizerTag, meta.GUID, meta.Duration:
		return true
	}
	return false
}

// quote puts a value between single or double quotes. Quotes in the value are doubled.
func (q *questioner) quote(s string) string {
	s = strings.NewReplacer(`'`, `''`, `"`, `""`).Replace(s)
	if q.chance(30) {
		return `"` + s + `"`
	}
	return "'" + s + "'"
}

// literal returns a text that a path can be compared with. It is mostly a value that an asset of the world
// has.
func (q *questioner) literal(p path, t *meta.Type, equality bool) string {
	if equality && q.chance(10) {
		return ""
	}
	if q.chance(80) {
		if s, ok := q.present(p, t); ok {
			return s
		}
	}
	return q.made(p)
}

// present returns a value at the end of the path on a random asset. ok is false if it finds no value.
func (q *questioner) present(p path, t *meta.Type) (string, bool) {
	var all []node
	for _, x := range q.w.at(current).order {
		if x.typ.IsA(t) {
			all = append(all, node{x, q.w.at(current)})
		}
	}
	for range min(len(all), 4) {
		n := all[q.IntN(len(all))]
		for _, v := range q.e.values(n, n, p, toTest) {
			if !missing(v) {
				return q.written(v, p.kind), true
			}
		}
	}
	return "", false
}

// written returns a value in one of the forms in which a client may write it. Texts are sometimes changed a
// little.
func (q *questioner) written(v any, k meta.Kind) string {
	switch v := v.(type) {
	case string:
		if k == meta.GUID {
			return []string{v, strings.ToUpper(v), "{" + v + "}", "urn:uuid:" + v}[q.IntN(4)]
		}
		if k == meta.Duration {
			return v
		}
		switch q.IntN(5) {
		case 0:
			return strings.ToUpper(v)
		case 1:
			if r := []rune(v); len(r) > 1 {
				return string(r[:len(r)-1])
			}
		case 2:
			return v + " "
		}
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case *meta.Type:
		return v.Name
	case node:
		return v.shown(q.chance(10))
	}
	n := v.(int64)
	if k == meta.Date {
		at := time.UnixMicro(n).UTC()
		return []string{
			at.Format(time.RFC3339Nano), at.Format("1/2/2006 3:04:05.999999 PM"), at.Format("2006-01-02 15:04:05.999999"),
			at.In(time.FixedZone("", -5*60*60)).Format(time.RFC3339Nano),
		}[q.IntN(4)]
	}
	if name, ok := stateNames[n]; ok && k == meta.State && q.chance(60) {
		return name
	}
	return strconv.FormatInt(n, 10)
}

// made returns a random value of the kind of the path. The world rarely has this value.
func (q *questioner) made(p path) string {
	g := grower{Rand: q.Rand}
	switch p.kind {
	case meta.Relation:
		if o := q.oidOf(p.to); o != "" {
			return o
		}
		return p.to.Concrete[0].Name + ":4711"
	case meta.AssetType:
		return q.w.m.Types[q.IntN(20)].Name
	case meta.State:
		return []string{"0", "64", "128", "200", "255", "Active", "closed", "Deleted", "Dead"}[q.IntN(8)]
	case meta.Numeric:
		return []string{"0", "1", "2", "3", "0.5", "-1", "1e1", "+2.50"}[q.IntN(8)]
	case meta.Rank:
		return rank(q.Rand)
	case meta.LongInt, meta.Opaque:
		return strconv.Itoa(q.IntN(1200))
	case meta.Date:
		return days[q.IntN(len(days))]
	case meta.Boolean:
		return []string{"true", "false", "True", "FALSE"}[q.IntN(4)]
	case meta.Duration, meta.GUID:
		return g.scalar(&meta.Attr{Kind: p.kind}).(string)
	}
	s := g.text()
	if q.chance(20) {
		s += "%" + g.text()
	}
	return s
}

// oidOf returns the Oid of a random asset of a type, or "" if there is none.
func (q *questioner) oidOf(t *meta.Type) string {
	var all []string
	for _, x := range q.w.at(current).order {
		if x.typ.IsA(t) {
			all = append(all, node{x, nil}.shown(false))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[q.IntN(len(all))]
}
