package query

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/query/token"
)

// Address is the parsed path of the data interface.
//
//	Data/Story                 {Type: "Story"}
//	Data/Story/1001/5/Owners   {Type: "Story", ID: "1001", Moment: "5", Attr: "Owners"}
//	Data/Story:1001            {Type: "Story", ID: "1001"}
//
// Spec: interface 4.1.
type Address struct {
	Type, ID, Moment, Attr string
}

// AddressOf reads the decoded path after Data/. A number after the id is a moment. The remaining
// path, including slashes, is the attribute token.
func AddressOf(path string) Address {
	typ, tail, _ := strings.Cut(path, "/")
	a := Address{Type: typ}
	if name, oid, ok := strings.Cut(typ, ":"); ok {
		a.Type = name
		a.ID, a.Moment, _ = strings.Cut(oid, ":")
	} else {
		a.ID, tail, _ = strings.Cut(tail, "/")
	}
	if first, rest, _ := strings.Cut(tail, "/"); a.Moment == "" && first != "" && strings.Trim(first, "0123456789") == "" {
		a.Moment, tail = first, strings.TrimLeft(rest, "/")
	}
	a.Attr = tail
	return a
}

// FromParams reads a query of the data interface. Names of parameters are compared without regard
// to case. Unknown parameters are ignored.
// Errors: fault.Invalid; its place is the byte offset in the parameter's value.
func FromParams(a Address, values url.Values) (Request, error) {
	r := Request{Rest: true, From: Text{Text: a.Type}}
	if a.ID != "" {
		r.From.Text += ":" + a.ID
	}
	if a.Moment != "" {
		r.From.Text += ":" + a.Moment
		r.Momented = true
	}
	r.One = a.ID != ""
	params := fold(values)
	if err := restSelect(&r, a, params); err != nil {
		return Request{}, err
	}
	if v := params["where"]; v != "" {
		r.Filter = []Text{{Text: v}}
	}
	if v := params["sort"]; v != "" {
		r.Sort = []Text{{Text: v}}
	}
	if v := params["page"]; v != "" {
		page, ok := pageText(v)
		if !ok {
			return Request{}, badPage(0, v)
		}
		r.Page = page
	}
	r.Find = params["find"]
	r.FindIn = listed(params["findin"])
	r.AsOf = Text{Text: params["asof"]}
	r.With = withParam(params["with"])
	return r, nil
}

// momentOnly matches a filter that only compares the moment. Existing clients use such a filter to
// read the current asset.
var momentOnly = regexp.MustCompile(`^\s*(?:(\w+)\.)?Moment\s*=\s*(?:'\d+'|"\d+")\s*$`)

// Current returns r without its filter, if r reads one asset as it is now and the filter only
// compares the moment. Existing clients send the moment of the version that they have, and expect
// the current version.
func (r Request) Current() Request {
	if !r.One || r.Momented || r.AsOf.Text != "" || len(r.Filter) != 1 {
		return r
	}
	typ, _, _ := strings.Cut(r.From.Text, ":")
	if m := momentOnly.FindStringSubmatch(r.Filter[0].Text); m != nil && (m[1] == "" || m[1] == typ) {
		r.Filter = nil
	}
	return r
}

// listed splits text at commas. It stores the byte offset of every part.
func listed(s string) []Text {
	var list []Text
	at := 0
	for part := range strings.SplitSeq(s, ",") {
		if name := strings.TrimSpace(part); name != "" {
			list = append(list, Text{Text: name, At: at + strings.Index(part, name)})
		}
		at += len(part) + 1
	}
	return list
}

// fold converts the names of parameters to lower case. It uses the first value of a name. If
// several names differ only in case, the name in lower case has precedence. Without such a name,
// the first name in the order of bytes has precedence.
func fold(values url.Values) map[string]string {
	params := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list, low := values[name], strings.ToLower(name)
		if _, twice := params[low]; len(list) > 0 && (!twice || name == low) {
			params[low] = list[0]
		}
	}
	return params
}

// restSelect reads the parameter sel or select. If the parameter is missing, the default attributes
// are selected. If it is empty, nothing is selected. If the path names an attribute, only this
// attribute is selected.
func restSelect(r *Request, a Address, params map[string]string) error {
	if a.Attr != "" {
		r.Plain = true
		r.Select = []Item{{Text: Text{Text: a.Attr}}}
		return nil
	}
	sel, ok := params["sel"]
	if !ok {
		sel, ok = params["select"]
	}
	if !ok {
		r.Basic = true
		return nil
	}
	list, err := token.ParseList(sel)
	if err != nil {
		return inParam("SEL", err)
	}
	for _, p := range list {
		r.Select = append(r.Select, Item{Text: Text{Text: sel[p.At:p.End], At: p.At}})
	}
	return nil
}

// withParam reads "$A=v1,v2;$B=v3". A semicolon or "|" ends a value only if another variable
// follows, so values may contain these characters.
func withParam(s string) map[string][]string {
	if s == "" {
		return nil
	}
	with := map[string][]string{}
	for s != "" {
		name, rest, ok := strings.Cut(strings.TrimPrefix(s, "$"), "=")
		if !ok {
			break
		}
		value := rest
		s = ""
		for i := range rest {
			if (rest[i] == ';' || rest[i] == '|') && startsVariable(rest[i+1:]) {
				value, s = rest[:i], rest[i+1:]
				break
			}
		}
		with[name] = strings.Split(value, ",")
	}
	return with
}

func startsVariable(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || !strings.HasPrefix(name, "$") {
		return false
	}
	p, err := token.Parse(name[1:])
	return err == nil && len(p.Hops) == 1
}
