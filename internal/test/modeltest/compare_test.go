package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// adopt gives labels to created assets whose Oids no response has contained: those of a response with
// counts only, and those that operations have created. This is possible because engine and model create
// them in the same order.
func (b *database) adopt(ctx context.Context, w *world) error {
	var made []string
	for _, t := range slices.SortedFunc(maps.Values(w.things), func(x, y *thing) int { return x.nr - y.nr }) {
		if _, known := b.ids[t.label]; !known {
			made = append(made, t.label)
		}
	}
	rows, err := b.d.Query(ctx, `SELECT id FROM asset WHERE id > 1000 ORDER BY id`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if b.labels[id] == "" && len(made) > 0 {
			b.name(id, made[0])
			made = made[1:]
		}
	}
	return rows.Err()
}

// tokens is one of the lists of Oids in a response. With counts only, it has only the count.
type tokens struct {
	OidTokens []string
	Count     int
}

// response is the decoded response to a bulk request.
type response struct {
	Created  tokens `json:"assetsCreated"`
	Modified tokens `json:"assetsModified"`
	Operated tokens `json:"assetsOperatedOn"`
	Failures struct {
		Commands []map[string]json.RawMessage
		Count    int
	} `json:"commandFailures"`
	Query struct {
		Results [][]map[string]any
		Count   int
	} `json:"queryResult"`
}

// compare compares the response of the engine with the answer of the model. It also gives labels to the
// created assets. It returns the first difference, or "" if there is none.
func (b *database) compare(want answer, got response, r *request) string {
	if r.counts && got.Created.OidTokens != nil {
		return "tokens in a response with counts only"
	}
	if len(want.created) != got.Created.Count || !r.counts && len(want.created) != len(got.Created.OidTokens) {
		return fmt.Sprintf("created: model %v, engine %v\nfailures: %s", want.created, got.Created.OidTokens, got.messages())
	}
	for i, label := range want.created {
		if r.counts {
			break
		}
		token := got.Created.OidTokens[i]
		typ, digits, _ := strings.Cut(token, ":")
		id, _ := strconv.ParseInt(digits, 10, 64)
		if typ != typeOf(label) {
			return fmt.Sprintf("created: %s instead of a %s", token, typeOf(label))
		}
		b.name(id, label)
	}
	if diff := b.compareFailures(want.failures, got, r.preview); diff != "" {
		return diff
	}
	for _, x := range []struct {
		what string
		want []string
		got  tokens
	}{{"modified", want.modified, got.Modified}, {"operated on", want.operated, got.Operated}} {
		all := b.tokens(x.want)
		if len(all) != x.got.Count || !r.counts && !slices.Equal(all, x.got.OidTokens) {
			return fmt.Sprintf("%s: model %v, engine %v, failures: %s", x.what, all, x.got, got.messages())
		}
	}
	if r.counts {
		return ""
	}
	if diff := cmp.Diff(b.inTokens(want.results), any(plain(got.Query.Results)), cmpopts.EquateEmpty()); diff != "" {
		return "query results (-model +engine):\n" + diff
	}
	count := len(want.results)
	if count == 0 {
		count = -1
	}
	if got.Query.Count != count {
		return fmt.Sprintf("queryResult.count is %d instead of %d", got.Query.Count, count)
	}
	return ""
}

func (b *database) tokens(labels []string) []string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = b.oid(ref{label: l})
	}
	return all
}

// inTokens returns a copy of v in which each label is replaced by the Oid of the asset.
func (b *database) inTokens(v any) any {
	switch x := v.(type) {
	case [][]map[string]any:
		all := []any{}
		for _, rows := range x {
			list := []any{}
			for _, r := range rows {
				list = append(list, b.inTokens(r))
			}
			all = append(all, list)
		}
		return all
	case []any:
		all := []any{}
		for _, item := range x {
			all = append(all, b.inTokens(item))
		}
		return all
	case map[string]any:
		m := map[string]any{}
		for k, item := range x {
			m[k] = b.inTokens(item)
			if k == "_oid" && item != nowhere {
				m[k] = b.oid(ref{label: item.(string)})
			}
		}
		return m
	}
	return v
}

func plain(results [][]map[string]any) []any {
	all := []any{}
	for _, rows := range results {
		list := []any{}
		for _, r := range rows {
			list = append(list, any(r))
		}
		all = append(all, list)
	}
	return all
}

// failed is one of the failures in a response.
type failed struct {
	alias   string
	command map[string]any
	message string
	index   int
}

func readFailure(m map[string]json.RawMessage) failed {
	var f failed
	for k, v := range m {
		if k != "error" {
			f.alias = k
			_ = json.Unmarshal(v, &f.command) // stays nil if the command is not an object
			continue
		}
		var e struct {
			Message            string
			SourceCommandIndex int
		}
		d := json.NewDecoder(bytes.NewReader(v))
		d.DisallowUnknownFields() // other fields are an error, because clients compare the whole error
		if err := d.Decode(&e); err != nil {
			e.Message = err.Error()
		}
		f.message, f.index = e.Message, e.SourceCommandIndex
	}
	return f
}

func (r response) messages() string {
	var b bytes.Buffer
	for _, m := range r.Failures.Commands {
		f := readFailure(m)
		fmt.Fprintf(&b, "\n  %d %s", f.index, f.message)
	}
	return b.String()
}

// compareFailures compares the failures in their order. If a command failed because another one failed, its
// failure must name the alias of that other command. projected is true if the projection of the request was
// posted instead of the request. The commands of a projection have other indexes than the commands of the
// request, so indexes are not compared.
func (b *database) compareFailures(want []failure, got response, projected bool) string {
	all := func() string {
		var t strings.Builder
		for _, f := range want {
			fmt.Fprintf(&t, "\n  %d %s", f.step.index, f.message)
		}
		return "failures: model" + t.String() + "\nengine" + got.messages()
	}
	if len(want) != len(got.Failures.Commands) || got.Failures.Count != len(want) {
		return all()
	}
	named := map[*step]string{}
	for i, f := range want {
		named[f.step] = readFailure(got.Failures.Commands[i]).alias
	}
	for i, f := range want {
		g := readFailure(got.Failures.Commands[i])
		message := f.message
		if before, label, ok := strings.Cut(message, tokenMark); ok {
			message = before + b.oid(ref{label: label})
		}
		if slices.Contains(f.reasons, g.message) {
			message = g.message
		}
		if f.orphan != nil && f.orphan.create == nil { // the parent is an update: the message names its asset
			message = g.message
			if !strings.HasPrefix(message, "Invalid OID token: ") {
				message = "Invalid OID token: of the asset that was not updated"
			}
		} else if f.orphan != nil {
			message = "Invalid OID token: " + named[f.orphan]
			if f.step.parent == f.orphan && g.command["#ContextOid"] != named[f.orphan] {
				return fmt.Sprintf("the command of failure %d has the context %v instead of %s", i, g.command["#ContextOid"], named[f.orphan])
			}
		}
		if g.message != message || g.index != f.step.index && !projected {
			return fmt.Sprintf("failure %d is %q of command %d, by the model %q of %d\n%s", i, g.message, g.index, message, f.step.index, all())
		}
		if f.step.create != nil && f.step.alias != "" && g.alias != string(f.step.alias) {
			return fmt.Sprintf("failure %d is under %s instead of %s", i, g.alias, f.step.alias)
		}
	}
	return ""
}

// differ describes the differences between two worlds. It returns "" if there are none.
func differ(want, got *world) string {
	var b strings.Builder
	for _, label := range slices.Sorted(maps.Keys(got.things)) {
		if want.things[label] == nil {
			fmt.Fprintf(&b, "+ %s\n", label)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(want.things)) {
		x, y := want.things[label], got.things[label]
		if y == nil {
			fmt.Fprintf(&b, "- %s\n", label)
			continue
		}
		if x.equal(y) && (x.versions == y.versions || x.versions < 0) {
			continue
		}
		fmt.Fprintf(&b, "- %s %d %v %v %v, %d versions\n+ %s %d %v %v %v, %d versions\n",
			label, x.state, x.val, x.one, x.tags, x.versions, label, y.state, y.val, y.one, y.tags, y.versions)
	}
	for _, part := range [][2]any{{want.links, got.links}, {want.roles, got.roles}, {want.ranks, got.ranks}, {want.logins, got.logins}} {
		b.WriteString(cmp.Diff(part[0], part[1], cmp.AllowUnexported(link{}), cmpopts.EquateEmpty()))
	}
	return b.String()
}
