package feed

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
)

// The default and the maximum number of changes of a page.
const (
	defaultPage = 100
	maxPage     = 1000
)

// Request is a request for changes, with the parameters as text.
// Spec: interface 4.12.1.
type Request struct {
	After string // a cursor, or the sequenceId of a change; empty: the current end of the feed
	Page  string // maximum number of changes; empty: 100

	Type        string // type of the events; empty: AssetCreated and AssetChanged
	From        string // asset type; empty: every type
	Attributes  string
	Filter      string
	With        string
	Select      string
	UserContext string // Oid of a member; empty: the caller
}

// question is a parsed request.
type question struct {
	*rules
	who  auth.Actor
	size int
}

// read checks a request. The error has the kind fault.Invalid for an invalid parameter, and
// fault.Denied if the caller may not read as the requested member.
func (s *Service) read(ctx context.Context, caller auth.Actor, r *Request) (*question, error) {
	q := &question{size: defaultPage}
	var err error
	if r.Page != "" {
		if q.size, err = strconv.Atoi(r.Page); err != nil || q.size < 1 || q.size > maxPage {
			return nil, errPage(r.Page)
		}
	}
	if q.who, err = s.as(ctx, caller, r.UserContext); err != nil {
		return nil, err
	}
	a := asked{kind: r.Type, from: r.From, attributes: r.Attributes, filter: r.Filter, with: r.With, sel: r.Select, all: q.who.All}
	if !a.all {
		a.member = q.who.Member
	}
	if q.rules = s.compiled.get(a); q.rules != nil {
		return q, nil
	}
	if q.rules, err = s.compile(q.who, r); err != nil {
		return nil, err
	}
	s.compiled.put(a, q.rules)
	return q, nil
}

// compile creates the rules of a request. The error has the kind fault.Invalid if the definition is
// invalid.
func (s *Service) compile(who auth.Actor, r *Request) (*rules, error) {
	made := &rules{index: s.events.NewIndex(), target: &event.Target{}}
	definition, err := r.definition()
	if err != nil {
		return nil, err
	}
	if !who.All {
		t, ok := s.model.Type("Member")
		if !ok {
			return nil, errMember(r.UserContext)
		}
		definition.UserContext = oid.OID{Type: t.Name, ID: t.Shown(who.Member)}.String()
	}
	kinds, err := r.kinds()
	if err != nil {
		return nil, err
	}
	for order, kind := range kinds {
		if definition.Type = kind; kind == event.AssetCreated {
			definition.Attributes = nil
		} else {
			definition.Attributes = split(r.Attributes)
		}
		for _, from := range s.roots(r.From) {
			if definition.From = from; s.isUnknown(from) {
				return nil, errUnknownType(from)
			}
			if err := made.index.Add(made.target, order, &definition); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range made.index.Types() {
		made.codes = append(made.codes, t.Code)
	}
	return made, nil
}

// as returns the actor with whose current rights the changes are read. The error has the kind
// fault.Denied if the caller is not an administrator and requests the view of another member. It
// has the kind fault.Invalid if member is not the Oid of a member.
func (s *Service) as(ctx context.Context, caller auth.Actor, member string) (auth.Actor, error) {
	if member == "" {
		return caller, nil
	}
	o, err := oid.Parse(member)
	t, ok := s.model.Type("Member")
	if err != nil || !ok || o.Type != t.Name || o.Moment != 0 {
		return auth.Actor{}, errMember(member)
	}
	id := t.Stored(o.ID)
	switch {
	case id == caller.Member:
		return caller, nil
	case !caller.Admin:
		return auth.Actor{}, errOther()
	}
	who, err := s.actors.ActorOf(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		err = errMember(member)
	}
	return who, err
}

// definition reads the parameters that requests for changes share with webhooks and with queries.
func (r *Request) definition() (event.Definition, error) {
	d := event.Definition{}
	for _, p := range [][2]string{{"attributes", r.Attributes}, {"filter", r.Filter}, {"select", r.Select}} {
		if p[1] != "" && r.From == "" {
			return d, errNeedsFrom(p[0])
		}
	}
	params := url.Values{"with": {r.With}, "select": {r.Select}}
	read, err := query.FromParams(query.Address{Type: r.From}, params)
	if err != nil {
		return d, err
	}
	for _, item := range read.Select {
		d.Select = append(d.Select, item.Text.Text)
	}
	if r.Filter != "" {
		d.Filter = []string{r.Filter}
	}
	if len(read.With) > 0 {
		d.With = map[string]event.Values{}
		for name, values := range read.With {
			d.With[name] = values
		}
	}
	return d, nil
}

// kinds returns the requested types of events. If the request has attributes but no type, the only
// type is AssetChanged.
func (r *Request) kinds() ([]event.Type, error) {
	switch t := event.Type(r.Type); t {
	case "":
		if r.Attributes != "" {
			return []event.Type{event.AssetChanged}, nil
		}
		return []event.Type{event.AssetCreated, event.AssetChanged}, nil
	case event.AssetCreated, event.AssetChanged:
		return []event.Type{t}, nil
	}
	return nil, errType(r.Type)
}

// roots returns the asset types for which rules are created.
func (s *Service) roots(from string) []string {
	if from != "" {
		return []string{from}
	}
	return s.all
}

func (s *Service) isUnknown(from string) bool {
	t, ok := s.model.Type(from)
	return !ok || len(t.Concrete) == 0
}

// rootsOf returns the names of the types that have no parent type.
func rootsOf(m *meta.Model) []string {
	var all []string
	for _, t := range m.Types {
		if t.Parent == nil && len(t.Concrete) > 0 {
			all = append(all, t.Name)
		}
	}
	return all
}

// split returns the names in a comma-separated list.
func split(list string) []string {
	var names []string
	for part := range strings.SplitSeq(list, ",") {
		if name := strings.TrimSpace(part); name != "" {
			names = append(names, name)
		}
	}
	return names
}
