package query

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// columns binds the key select. In the rest-1 form it adds the default attributes if nothing is
// selected, adds the names of related assets, and sorts the columns (restColumns).
func (b *binder) columns(q *Bound, r Request) error {
	if len(r.Select) > MaxColumns {
		return tooMany(r.Select[MaxColumns].At, "selected tokens", MaxColumns)
	}
	if r.Basic {
		for _, a := range q.Type.Basic {
			p, err := b.path(q.Type, token.Path{Hops: []token.Hop{{Name: a.Name}}})
			if err != nil {
				return err
			}
			q.Columns = append(q.Columns, BoundColumn{Name: a.Name, Path: p})
		}
	}
	named := map[string]*Bound{}
	for _, item := range r.Select {
		c, err := b.column(q.Type, item)
		if err != nil {
			return b.param("SEL", err)
		}
		sub, twice := named[c.Name]
		if twice && (sub != nil || c.Sub != nil) {
			return badToken(item.place(), c.Name, "it is selected twice")
		}
		if !twice {
			named[c.Name] = c.Sub
			q.Columns = append(q.Columns, c)
		}
	}
	if b.rest && !r.Plain {
		q.Columns = restColumns(q.Columns)
	}
	return nil
}

// place returns the byte offset of an item of the key select.
func (i Item) place() int {
	if i.Sub != nil {
		return i.Sub.From.At
	}
	return i.At
}

func (b *binder) column(on *meta.Type, item Item) (BoundColumn, error) {
	if item.Sub != nil {
		return b.nestedSelect(on, *item.Sub)
	}
	c := BoundColumn{Name: item.Text.Text}
	src, err := token.Parse(c.Name)
	if err == nil {
		c.Path, err = b.path(on, src)
	}
	if err == nil && b.rest {
		c.Name = b.unprefixed(on, c.Name, src)
	}
	return c, shift(err, item.Text)
}

// unprefixed returns the text of a token without a leading type: "Name" for "Story.Name".
func (b *binder) unprefixed(on *meta.Type, text string, src token.Path) string {
	first := src.Hops[0]
	if b.prefix(on, src.Hops) != nil {
		first = src.Hops[1]
	}
	return strings.TrimSpace(text[first.At:])
}

// nestedSelect binds a select inside a select. Its rows are the assets to which a relation of the
// outer row refers.
func (b *binder) nestedSelect(on *meta.Type, r Request) (BoundColumn, error) {
	if r.Page != nil || r.AsOf.Text != "" {
		return BoundColumn{}, outermostOnly(r.From.At)
	}
	if b.nested == MaxNested {
		return BoundColumn{}, tooMany(r.From.At, "selects inside each other", MaxNested)
	}
	via, err := b.token(on, r.From)
	if err != nil {
		return BoundColumn{}, err
	}
	if !via.IsRelation() || len(via.Steps) == 0 {
		return BoundColumn{}, badToken(r.From.At, r.From.Text, "a nested select needs a relation")
	}
	last := &via.Steps[len(via.Steps)-1]
	sub := Bound{Type: last.To, Only: last.Only, Via: via}
	inner := binder{m: b.m, with: b.with, alias: b.alias, nested: b.nested + 1, terms: b.terms, values: b.values, given: b.given, text: b.text, slots: b.slots}
	if err := inner.fill(&sub, r); err != nil {
		return BoundColumn{}, err
	}
	last.Deleted = last.Deleted || sub.Deleted
	return BoundColumn{Name: r.From.Text, Path: via, Sub: &sub}, nil
}

// groups binds the key group. Every entry becomes a nested select. In the answer, the rows of the
// nested select contain the rows of the query.
func (b *binder) groups(q *Bound, r Request) error {
	for _, g := range r.Group {
		via, err := b.token(q.Type, g.From)
		if err != nil {
			return err
		}
		if !via.IsRelation() || len(via.Steps) == 0 || via.Only != nil {
			return badToken(g.From.At, g.From.Text, "a group needs a relation")
		}
		c, err := b.nestedSelect(q.Type, g)
		if err != nil {
			return err
		}
		q.Groups = append(q.Groups, c)
	}
	return nil
}

// restColumns adds R.Name and R.ShortName for every relation R. It returns the columns in the order
// in which clients get them: single values, names of single relations, to-many relations (each with
// its names), multi-value scalars.
func restColumns(columns []BoundColumn) []BoundColumn {
	have := map[string]bool{}
	for _, c := range columns {
		have[c.Path.Text] = true
	}
	var single, names, many, values []BoundColumn
	for _, c := range columns {
		added := namesOf(c, have)
		switch {
		case !c.Path.Many():
			single = append(single, c)
			names = append(names, added...)
		case c.Path.Leaf.Attr != nil && c.Path.Leaf.Attr.Multi:
			values = append(values, c)
		default:
			many = append(append(many, c), added...)
		}
	}
	return slices.Concat(single, names, many, values)
}

// namesOf returns the columns that are added for the relation in c. It leaves out columns for which
// the text of the path is in have, and adds the texts of the new columns to have.
func namesOf(c BoundColumn, have map[string]bool) []BoundColumn {
	p := c.Path
	if !p.IsRelation() || len(p.Steps) == 0 || p.Steps[len(p.Steps)-1].Attr.Name == "ID" {
		return nil
	}
	to := p.To()
	var all []BoundColumn
	for _, name := range []string{to.NameAttr, to.ShortName} {
		text := p.Text + "." + name
		a, ok := to.Attr(name)
		if !ok || have[text] {
			continue
		}
		have[text] = true
		named := p
		named.Text, named.Leaf = text, Leaf{Attr: a}
		all = append(all, BoundColumn{Name: c.Name + "." + name, Path: named})
	}
	return all
}
