package importer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/folding"
)

// present has the current values of an asset. An update compares them with the record of the asset.
type present struct {
	row     map[string]any // current values of multi-value attributes, by attribute
	remarks []remark
}

// remark is a comment in the service.
type remark struct {
	Content    string
	AuthoredAt string
}

// expressions is the relation from an asset to its comments.
const expressions = "MentionedInExpressions"

// present reads the multi-value attributes and comments of the existing assets of a batch. It
// returns them by Oid.
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

// readPresent adds the current values of the assets of one type to the map there. The parameter
// lists has the attributes to read.
func (r *run) readPresent(
	ctx context.Context, typ string, oids []string, lists map[string]bool, there map[string]present,
) error {
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

// attributes returns the attributes that an item sets or clears.
func (it *item) attributes() []string {
	names := slices.Clone(it.Cleared)
	names = slices.AppendSeq(names, maps.Keys(it.Values))
	names = slices.AppendSeq(names, maps.Keys(it.Names))
	return slices.AppendSeq(names, maps.Keys(it.Links))
}

// update returns the command that changes an asset to match its record. The command sets lists
// to the values of the record, clears attributes whose columns are empty, and adds new
// comments. update returns nil if nothing changes.
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

// inLine replaces the values of a list by a change: values to add, and values to remove. The
// parameter v has the new values of the list. The current values are in the parameter has.
func inLine(values map[string]any, name string, v, has any) {
	if how, ok := v.(map[string]any); ok && how["from"] == nil {
		return // the record has a change already, with add and remove
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

// newRemarks returns the comments of a record that the service does not have. It first looks for
// comments in the service with the same text and date. For the remaining comments, it compares only
// the text, because an import without dates does not store the date.
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

// is reports whether a comment has the same text as the comment h in the service. The text in the
// service may begin with the name of an author who is not a member.
func (c comment) is(h remark) bool { return h.Content == c.Text || h.Content == c.bySomebody() }

// bySomebody returns the text of a comment whose author is not a member. It begins with the
// author's name.
func (c comment) bySomebody() string { return strings.TrimSpace(c.Author) + ": " + c.Text }

// checkOf returns a query that finds a comment after it was added.
func (r *run) checkOf(e entry, c comment) map[string]any {
	where := map[string]any{"Mentions": r.index.oid(e.asset), "Content": c.Text}
	if c.At != "" && !r.o.WithoutDates {
		where = map[string]any{"Mentions": r.index.oid(e.asset), "AuthoredAt": c.At}
	}
	return map[string]any{"from": "Expression", "where": where}
}
