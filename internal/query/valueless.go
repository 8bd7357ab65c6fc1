package query

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
)

// placeholder is written in place of a value.
const placeholder = "?"

// valueless is the printed form of a request without its values. FromDoc reads the same keys.
type valueless struct {
	From   string              `json:"from"`
	Select []any               `json:"select,omitempty"`
	Where  map[string]string   `json:"where,omitempty"`
	Filter []string            `json:"filter,omitempty"`
	With   map[string][]string `json:"with,omitempty"`
	Sort   []string            `json:"sort,omitempty"`
	Find   string              `json:"find,omitempty"`
	FindIn []string            `json:"findin,omitempty"`
	Page   *valuelessPage      `json:"page,omitempty"`
	AsOf   string              `json:"asof,omitempty"`
	Group  []any               `json:"group,omitempty"`
	Total  bool                `json:"total,omitempty"`
}

type valuelessPage struct {
	Size  int64  `json:"size"`
	After string `json:"after,omitempty"`
}

// Valueless returns r as a JSON document in which question marks replace the client's texts, except
// names of the model. It replaces numbers of Oids, values in comparisons, search texts, values of
// variables, instants and cursors.
//
// Example: {"from":"Story","select":["Name"],"where":{"Scope":"?"},"filter":["Name='?'"]}
//
// The result is for people who may see which queries run, but not the values in these queries.
func (r Request) Valueless() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(r.valueless()) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *Request) valueless() valueless {
	v := valueless{
		From: withoutNumber(r.From.Text), Filter: withoutQuoted(r.Filter), Sort: withoutQuoted(r.Sort), FindIn: withoutQuoted(r.FindIn), Total: r.Total,
	}
	for _, item := range r.Select {
		if item.Sub != nil {
			v.Select = append(v.Select, item.Sub.valueless())
		} else {
			v.Select = append(v.Select, unquoted(item.Text.Text))
		}
	}
	for i := range r.Group {
		v.Group = append(v.Group, r.Group[i].valueless())
	}
	for _, p := range r.Where {
		if v.Where == nil {
			v.Where = map[string]string{}
		}
		v.Where[unquoted(p.Token.Text)] = r.withoutValue(p.Value.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.With)) {
		if v.With == nil {
			v.With = map[string][]string{}
		}
		v.With["$"+strings.TrimPrefix(name, "$")] = []string{placeholder}
	}
	if r.Find != "" {
		v.Find = placeholder
	}
	if v.AsOf = r.AsOf.Text; v.AsOf != "" && v.AsOf != AllVersions {
		v.AsOf = placeholder
	}
	if r.Page != nil && (r.Page.Size != WholePage || r.Page.After != nil) {
		v.Page = &valuelessPage{Size: r.Page.Size}
		if r.Page.After != nil {
			v.Page.After = placeholder
		}
	}
	return v
}

// withoutNumber returns the key from of a request without values: in an Oid, the number is
// replaced.
func withoutNumber(from string) string {
	if o, err := oid.Parse(from); err == nil && !o.IsNull() {
		return o.Type + ":" + placeholder
	}
	return unquoted(from)
}

// withoutValue returns the value of an entry of the key where: a placeholder, or the text itself if
// it names a variable.
func (r *Request) withoutValue(text string) string {
	name, isVariable := strings.CutPrefix(text, "$")
	if isVariable && (r.With[name] != nil || r.With[text] != nil) {
		return text
	}
	return placeholder
}

func withoutQuoted(list []Text) []string {
	var all []string
	for _, t := range list {
		all = append(all, unquoted(t.Text))
	}
	return all
}

// several matches a list of placeholders. Such a list is replaced by one placeholder.
var several = regexp.MustCompile(`'\?'(\s*,\s*'\?')+`)

// unquoted returns a token or filter with a placeholder in place of each text in quotes. All values
// in such a text are in quotes.
func unquoted(text string) string {
	if !strings.ContainsAny(text, `'"`) {
		return text
	}
	var b strings.Builder
	at := 0
	for _, q := range quotes(text) {
		b.WriteString(text[at:q.at] + "'" + placeholder + "'")
		at = q.end
	}
	rest := text[at:]
	if i := strings.IndexAny(rest, `'"`); i >= 0 { // a quote that is not closed
		rest = rest[:i]
	}
	return several.ReplaceAllString(b.String()+rest, "'"+placeholder+"'")
}
