package describe

import (
	"strings"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
)

// Token describes what a token gives on a type: an attribute, or what a path leads
// to, such as "Owners.Nickname" or "Owners.@Count". With the prefix of a type below,
// it is what that type has. It does not know operations.
// Errors: fault.NotFound for an unknown name, fault.Invalid for text that is no
// token.
func Token(m *meta.Model, t *meta.Type, text string) (Attribute, error) {
	if a, ok := t.Attr(text); ok {
		return definition(a), nil
	}
	p, err := query.BindToken(m, t, text)
	if err != nil {
		return Attribute{}, unknown(err)
	}
	if a, ok := p.On.Attr(p.Text); ok {
		return definition(a), nil
	}
	return path(p.On, &p), nil
}

// unknown makes an unknown name a matter of the address.
func unknown(err error) error {
	if msg := fault.Public(err); strings.HasPrefix(msg, "Unknown ") {
		return fault.NotFoundf("%s", msg)
	}
	return err
}

// path describes what a bound path leads to. Nobody writes there; the rest is that
// of the definition at its end.
func path(t *meta.Type, p *query.Path) Attribute {
	leaf := p.Def
	d := Attribute{
		Of: t.Name, Name: p.Text, DisplayName: displayName(leaf), Kind: p.Kind(), ReadOnly: true,
		Required: leaf.Required, Multi: p.Agg == query.None && (p.Many() || leaf.Multi),
		Canned: leaf.Canned, Custom: leaf.Custom,
	}
	if leaf.Token() != d.Token() { // as that of an attribute of some types below t is
		d.Leaf = leaf.Token()
	}
	if d.Kind == meta.Relation {
		d.Related = p.To().Name
	}
	if !d.Multi {
		d.sortsAt(leaf)
	}
	return d
}

// sortsAt sets what assets are sorted by to sort by a path.
func (d *Attribute) sortsAt(leaf *meta.Attr) {
	switch at := d.Of + "." + d.Name; {
	case d.Kind != meta.Relation:
		d.OrderBy = at
	default:
		d.OrderBy, d.DisplayBy = below(at, leaf.Related.OrderBy), below(at, leaf.Related.DisplayBy)
	}
}
