package auth

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// maxBounds is the maximum number of entries of each list in the bounds of a token.
const maxBounds = 100

// proposal is the type of proposals.
const proposal = "Proposal"

// everything is how clients write AllWrites.
const everything = "all"

// BoundsView are the bounds of a token as clients see and set them. Spec: interface 5.10.
type BoundsView struct {
	Writes    string   `json:"writes"`  // all, plans, proposals or none
	Deletes   bool     `json:"deletes"` // false: nothing may be deleted
	Projects  []string `json:"projects"`
	Types     []string `json:"types"`
	Addresses []string `json:"addresses"`
	Changes   *int     `json:"changes"` // limit of the changes of one request; nil: none
	Hourly    *int     `json:"hourly"`  // limit of the changes within an hour; nil: none
}

// parseBounds reads the bounds of a new token. nil: none. Errors: fault.Invalid.
func parseBounds(n *document.Node) (*BoundsView, error) {
	if n.Kind == document.Null {
		return nil, nil //nolint:nilnil // nil: no bounds
	}
	v := &BoundsView{Writes: everything, Deletes: true}
	if n.Kind != document.Map {
		return nil, fault.Invalidf(n.At, `bounds must be an object: {"writes", "deletes", "projects", "types", "addresses", "changes", "hourly"}`)
	}
	for i, key := range n.Keys {
		if err := v.set(key, &n.Items[i]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *BoundsView) set(key string, n *document.Node) (err error) {
	switch key {
	case "writes":
		if n.Kind != document.String && n.Kind != document.Null {
			return fault.Invalidf(n.At, "writes must be all, plans, proposals or none")
		}
		if n.Kind == document.String {
			v.Writes = n.Text
		}
	case "deletes":
		if n.Kind != document.Bool && n.Kind != document.Null {
			return fault.Invalidf(n.At, "deletes must be true or false")
		}
		v.Deletes = n.Text != "false"
	case "projects":
		v.Projects, err = texts(key, n)
	case "types":
		v.Types, err = texts(key, n)
	case "addresses":
		v.Addresses, err = texts(key, n)
	case "changes":
		v.Changes, err = limit(key, n)
	case "hourly":
		v.Hourly, err = limit(key, n)
	default:
		return fault.Invalidf(n.At, "Invalid key at node(s): root->bounds->%s", key)
	}
	return err
}

// texts reads a list of texts. null: no list.
func texts(key string, n *document.Node) ([]string, error) {
	if n.Kind == document.Null {
		return nil, nil
	}
	if n.Kind != document.List {
		return nil, fault.Invalidf(n.At, "%s must be a list of texts", key)
	}
	list := make([]string, len(n.Items))
	for i := range n.Items {
		if n.Items[i].Kind != document.String {
			return nil, fault.Invalidf(n.Items[i].At, "%s must be a list of texts", key)
		}
		list[i] = n.Items[i].Text
	}
	return list, nil
}

// maxLimit is the largest limit of changes.
const maxLimit = 1_000_000_000

// limit reads a limit of changes. null: no limit.
func limit(key string, n *document.Node) (*int, error) {
	if n.Kind == document.Null {
		return nil, nil //nolint:nilnil // nil: no limit
	}
	most, err := strconv.Atoi(n.Text)
	if n.Kind != document.Number || err != nil {
		return nil, errNoLimit(n.At, key)
	}
	return &most, nil
}

func errNoLimit(at int, key string) error {
	return fault.Invalidf(at, "%s must be a number from 1 to %d", key, maxLimit)
}

// boundsOf checks the bounds of a new token and returns them as they are stored; nil: they limit
// nothing. The actor must see the projects.
// Errors: fault.Invalid.
func (s *Service) boundsOf(ctx context.Context, who Actor, v *BoundsView) (*Bounds, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // nil: no bounds
	}
	b := &Bounds{NoDeletes: !v.Deletes}
	switch v.Writes {
	case everything:
	case string(PlannedWrites), string(ProposedWrites), string(NoWrites):
		b.Writes = Writes(v.Writes)
	default:
		return nil, fault.Invalidf(fault.NoPlace, "writes must be all, plans, proposals or none")
	}
	for name, list := range map[string][]string{"projects": v.Projects, "types": v.Types, "addresses": v.Addresses} {
		if len(list) > maxBounds {
			return nil, fault.Invalidf(fault.NoPlace, "%s may have at most %d entries", name, maxBounds)
		}
		if list != nil && len(list) == 0 { // it could mean nothing or everything
			return nil, fault.Invalidf(fault.NoPlace, "%s must have at least one entry", name)
		}
	}
	var err error
	if b.Projects, err = s.projectsOf(ctx, who, v.Projects); err != nil {
		return nil, err
	}
	for _, name := range v.Types {
		if !s.roles.limitable[name] {
			return nil, fault.Invalidf(fault.NoPlace, "Invalid type: %s (wanted: a type whose assets belong to projects)", name)
		}
		b.Types = append(b.Types, name)
	}
	if b.Writes == ProposedWrites && b.Types != nil && !slices.Contains(b.Types, proposal) {
		b.Types = append(b.Types, proposal) // so that the token sees its proposals
	}
	for _, text := range v.Addresses {
		p, err := prefix(text)
		if err != nil {
			return nil, fault.Invalidf(fault.NoPlace, "Invalid address: %s (wanted: an IP address or a network such as 10.0.0.0/8)", text)
		}
		b.Addresses = append(b.Addresses, p)
	}
	for _, l := range []struct {
		name string
		of   *int
		to   *int
	}{{"changes", v.Changes, &b.MaxChanges}, {"hourly", v.Hourly, &b.MaxHourly}} {
		switch {
		case l.of == nil:
		case *l.of < 1 || *l.of > maxLimit:
			return nil, errNoLimit(fault.NoPlace, l.name)
		default:
			*l.to = *l.of
		}
	}
	if b.MaxChanges == 0 && b.MaxHourly == 0 && b.Writes == AllWrites && !b.NoDeletes && b.Projects == nil && b.Types == nil && b.Addresses == nil {
		return nil, nil //nolint:nilnil // nil: no bounds
	}
	return b, nil
}

// projectsOf returns the stored ids of projects, ascending. Errors: fault.Invalid for a text that is
// not the Oid of a project, and for a project that is deleted or that the actor does not see.
func (s *Service) projectsOf(ctx context.Context, who Actor, oids []string) ([]int64, error) {
	var ids []int64
	for _, text := range oids {
		o, err := oid.Parse(text)
		if err != nil || o.Type != s.roles.scope.Name || o.Moment != 0 || !who.Reads(s.roles.scope.Stored(o.ID)) {
			return nil, errNoProject(text)
		}
		id := s.roles.scope.Stored(o.ID)
		err = s.db.QueryRow(ctx, `SELECT id FROM asset WHERE id = ? AND type = ? AND state < ?`,
			id, s.roles.scope.Code, meta.StateDeleted).Scan(&id)
		if fault.KindOf(err) == fault.NotFound {
			err = errNoProject(text)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func errNoProject(text string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid project: %s (wanted: the Oid of a Scope that you see)", text)
}

// prefix reads an IP address without a zone, or a network. IPv4 addresses within IPv6 become IPv4
// addresses, as the addresses of clients do.
func prefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err == nil && a.Zone() != "" {
			err = errors.New("an address with a zone")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), err
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4In6() {
		return p.Masked(), err
	}
	if p.Bits() < inIPv6 {
		return p, errors.New("a network of IPv4 addresses within IPv6 that has others, too")
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-inIPv6).Masked(), nil
}

// inIPv6 is the number of bits before an IPv4 address that is written as an IPv6 address.
const inIPv6 = 96

// viewOf returns bounds as clients see them; nil: none.
func (s *Service) viewOf(b *Bounds) *BoundsView {
	if b == nil {
		return nil
	}
	v := &BoundsView{Writes: string(b.Writes), Deletes: !b.NoDeletes, Types: b.Types}
	if b.Writes == AllWrites {
		v.Writes = everything
	}
	for _, id := range b.Projects {
		v.Projects = append(v.Projects, oid.OID{Type: s.roles.scope.Name, ID: s.roles.scope.Shown(id)}.String())
	}
	if b.MaxChanges > 0 {
		v.Changes = &b.MaxChanges
	}
	if b.MaxHourly > 0 {
		v.Hourly = &b.MaxHourly
	}
	for _, p := range b.Addresses {
		v.Addresses = append(v.Addresses, p.String())
	}
	return v
}

// limitable returns the names of the types that bounds may name: projects, types whose assets belong
// to projects, and types above them.
func limitable(m *meta.Model) map[string]bool {
	names := map[string]bool{}
	for _, t := range m.Types {
		if len(t.Concrete) != 1 || t.Concrete[0] != t || !t.IsOfProjects() && !t.Secured.Self && t.Rights.Lies == nil {
			continue
		}
		for _, up := range t.Ancestors() {
			names[up.Name] = true
		}
	}
	return names
}
