package describe

import (
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// Token describes the target of a token on a type: an attribute, or the end of a path such as
// "Owners.Nickname" or "Owners.@Count". If the token begins with a type below t, Token describes
// the attribute of that type. It does not find operations.
// Errors: fault.NotFound for an unknown name; fault.Invalid for text that is not a token.
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

// unknown turns the error of an unknown name into fault.NotFound.
func unknown(err error) error {
	if msg := fault.Public(err); strings.HasPrefix(msg, "Unknown ") {
		return fault.NotFoundf("%s", msg)
	}
	return err
}

// path describes the end of a bound path as an attribute that is read-only. All other properties
// come from the definition of the attribute at its end.
func path(t *meta.Type, p *query.Path) Attribute {
	leaf := p.Def
	d := Attribute{
		Of: t.Name, Name: p.Text, DisplayName: displayName(leaf), Kind: p.Kind(), ReadOnly: true,
		Required: leaf.Required, Multi: p.Agg == query.None && (p.Many() || leaf.Multi),
		Canned: leaf.Canned, Custom: leaf.Custom,
	}
	if leaf.Token() != d.Token() { // the tokens are equal for an attribute that only some types below t have
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

// sortsAt sets the sort key of a path.
func (d *Attribute) sortsAt(leaf *meta.Attr) {
	switch at := d.Of + "." + d.Name; {
	case d.Kind != meta.Relation:
		d.OrderBy = at
	default:
		d.OrderBy, d.DisplayBy = below(at, leaf.Related.OrderBy), below(at, leaf.Related.DisplayBy)
	}
}
