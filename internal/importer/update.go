package importer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/folding"
)

// present is what an asset has that an update compares with its record.
type present struct {
	row     map[string]any // its lists, by attribute
	remarks []remark
}

// remark is a comment that the service has.
type remark struct {
	Content    string
	AuthoredAt string
}

// expressions is the relation from an asset to its comments.
const expressions = "MentionedInExpressions"

// present reads the lists and comments of what a batch updates, by Oid.
func (r *run) present(ctx context.Context, b *batch) (map[string]present, error) {
	oids, lists := map[string][]string{}, map[string]map[string]bool{} // by type
	for _, e := range b.entries {
		if !e.exists {
			continue
		}
		typ := r.index.typeOf(e.asset)
		t, err := r.model.of(ctx, typ)
		if err != nil {
			return nil, err
		}
		if lists[typ] == nil {
			lists[typ] = map[string]bool{}
		}
		for _, name := range e.attributes() {
			lists[typ][name] = t.attributes[name].IsMultivalue || lists[typ][name]
		}
		lists[typ][expressions] = lists[typ][expressions] || len(e.Remarks) > 0
		oids[typ] = append(oids[typ], r.index.oid(e.asset))
	}
	there := map[string]present{}
	for typ, oids := range oids {
		if err := r.readPresent(ctx, typ, oids, lists[typ], there); err != nil {
			return nil, err
		}
	}
	return there, nil
}

// readPresent reads those of one type.
func (r *run) readPresent(ctx context.Context, typ string, oids []string, lists map[string]bool, there map[string]present) error {
	var selects []any
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		switch {
		case !lists[name]:
		case name == expressions:
			selects = append(selects, map[string]any{"from": name, "select": []string{"Content", "AuthoredAt"}})
		default:
			selects = append(selects, name)
		}
	}
	if len(selects) == 0 {
		return nil
	}
	var rows []map[string]any
	_, err := r.client.query(ctx, map[string]any{
		"from": typ, "select": selects, "filter": []string{"ID=$oids"}, "with": map[string]any{"$oids": oids},
	}, &rows)
	for _, row := range rows {
		p := present{row: row}
		said, _ := row[expressions].([]any)
		for _, s := range said {
			one, _ := s.(map[string]any)
			p.remarks = append(p.remarks, remark{fmt.Sprint(one["Content"]), fmt.Sprint(one["AuthoredAt"])})
		}
		there[fmt.Sprint(row["_oid"])] = p
	}
	return err
}

// attributes are those that an item says something of.
func (it *item) attributes() []string {
	names := slices.Clone(it.Cleared)
	names = slices.AppendSeq(names, maps.Keys(it.Values))
	names = slices.AppendSeq(names, maps.Keys(it.Names))
	return slices.AppendSeq(names, maps.Keys(it.Links))
}

// update brings an asset in line with its record: lists have what the record has and no
// more, empty columns are cleared, comments that are new are added. nil: there is nothing
// to do.
func (r *run) update(ctx context.Context, q *request, e entry, values map[string]any, has present) (any, error) {
	t, err := r.model.of(ctx, r.index.typeOf(e.asset))
	if err != nil {
		return nil, err
	}
	delete(values, r.mapping.Key.Attribute)
	for _, name := range e.Cleared {
		a, ok := t.attributes[name]
		if _, set := values[name]; ok && !set && name != "Scope" && !a.IsReadOnly && a.AttributeType != "Password" {
			values[name] = nil
		}
	}
	maps.DeleteFunc(values, func(name string, v any) bool { return slices.Contains(importable, name) || creates(v) })
	for name, v := range values {
		if t.attributes[name].IsMultivalue {
			inLine(values, name, v, has.row[name])
		}
	}
	it := e.item
	if it.Remarks = newRemarks(it.Remarks, has.remarks, r.o.WithoutDates); len(it.Remarks) > 0 {
		if values[expressions], err = r.remarks(ctx, it, q); err != nil {
			return nil, err
		}
		q.check = r.checkOf(e, it.Remarks[0])
	}
	if len(values) == 0 {
		return nil, nil
	}
	return map[string]any{"from": r.index.oid(e.asset), "update": values}, nil
}

// inLine makes the values of a list a change of what the list has.
func inLine(values map[string]any, name string, v, has any) {
	if how, ok := v.(map[string]any); ok && how["from"] == nil {
		return // it says what is added and removed
	}
	var add, remove []any
	switch v := v.(type) {
	case nil:
	case []any:
		add = v
	default:
		add = []any{v}
	}
	list, _ := has.([]any)
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			one = object["_oid"]
		}
		if !slices.ContainsFunc(add, func(v any) bool { return folding.Equal(fmt.Sprint(v), fmt.Sprint(one)) }) {
			remove = append(remove, one)
		}
	}
	change := map[string]any{}
	if len(add) > 0 {
		change["add"] = add
	}
	if len(remove) > 0 {
		change["remove"] = remove
	}
	if values[name] = change; len(change) == 0 {
		delete(values, name)
	}
}

// newRemarks are the comments of a record that the service does not have: of equal texts
// as many as it lacks. The date decides first, and counts no more where it was left out.
func newRemarks(said []comment, has []remark, withoutDates bool) []comment {
	has = slices.Clone(has)
	for _, dated := range []bool{true, false} {
		said = slices.DeleteFunc(slices.Clone(said), func(c comment) bool {
			at := slices.IndexFunc(has, func(h remark) bool {
				return c.is(h) && (!dated || withoutDates || h.AuthoredAt == strings.TrimSuffix(c.At, "Z"))
			})
			if at >= 0 {
				has = slices.Delete(has, at, at+1)
			}
			return at >= 0
		})
	}
	return said
}

// is reports whether a comment is what the service has, by its text: that of somebody who
// is no member begins with the name.
func (c comment) is(h remark) bool { return h.Content == c.Text || h.Content == c.bySomebody() }

// bySomebody is the text of a comment of somebody who is no member.
func (c comment) bySomebody() string { return strings.TrimSpace(c.Author) + ": " + c.Text }

// checkOf is a query that finds a comment once it is added.
func (r *run) checkOf(e entry, c comment) map[string]any {
	where := map[string]any{"Mentions": r.index.oid(e.asset), "Content": c.Text}
	if c.At != "" && !r.o.WithoutDates {
		where = map[string]any{"Mentions": r.index.oid(e.asset), "AuthoredAt": c.At}
	}
	return map[string]any{"from": "Expression", "where": where}
}
