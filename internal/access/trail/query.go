package trail

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
)

// The size of a page.
const (
	pageSize = 25
	MaxPage  = 1000
)

// Query is a query for events. Its fields are texts of a request. An empty text sets no condition.
type Query struct {
	Page                   string // number of events in a page
	After                  string // the id of an event; the page has events that happened before this event
	Kind                   string // kinds, separated by commas
	Actor, Member, Project string // Oid tokens
	Since, Until           string // instants; Until is exclusive
}

// selection is a parsed Query.
type selection struct {
	size       int
	conditions []string
	args       []any
}

func (s *selection) where(condition string, args ...any) {
	s.conditions, s.args = append(s.conditions, condition), append(s.args, args...)
}

// read checks the texts of a query.
// Errors: fault.Invalid.
func (l *Log) read(q Query) (s selection, err error) {
	s.size = pageSize
	if q.Page != "" {
		if s.size, err = strconv.Atoi(strings.TrimSpace(q.Page)); err != nil || s.size < 1 || s.size > MaxPage {
			return s, fault.Invalidf(fault.NoPlace, "Invalid page: %s (wanted: a size from 1 to %d)", q.Page, MaxPage)
		}
	}
	if q.After != "" {
		p, ok := parsePlace(q.After)
		if !ok {
			return s, fault.Invalidf(fault.NoPlace, "Invalid after: %s (wanted: the id of an event)", q.After)
		}
		s.where(`at <= ? AND (at < ? OR id < ?)`, p.at, p.at, p.id)
	}
	if err := s.readKinds(q.Kind); err != nil {
		return s, err
	}
	for _, of := range []struct{ name, column, typ, text string }{
		{"actor", "actor_id", "Member", q.Actor}, {"member", "member_id", "Member", q.Member}, {"project", "scope_id", "Scope", q.Project},
	} {
		if of.text == "" {
			continue
		}
		id, ok := l.stored(of.typ, of.text)
		if !ok {
			return s, fault.Invalidf(fault.NoPlace, "Invalid %s: %s (wanted: the Oid of a %s)", of.name, of.text, of.typ)
		}
		s.where(of.column+` = ?`, id)
	}
	for _, of := range []struct{ name, condition, text string }{{"since", `at >= ?`, q.Since}, {"until", `at < ?`, q.Until}} {
		if of.text == "" {
			continue
		}
		micros, ok := value.Instant(of.text)
		if !ok {
			return s, fault.Invalidf(fault.NoPlace, "Invalid %s: %s (wanted: an instant)", of.name, of.text)
		}
		s.where(of.condition, micros)
	}
	return s, nil
}

func (s *selection) readKinds(text string) error {
	if text == "" {
		return nil
	}
	var kinds []any
	for name := range strings.SplitSeq(text, ",") {
		k := Kind(strings.TrimSpace(name))
		if !slices.Contains(allKinds, k) {
			return fault.Invalidf(fault.NoPlace, "Invalid kind: %s", k)
		}
		kinds = append(kinds, string(k))
	}
	if len(kinds) > len(allKinds) {
		return fault.Invalidf(fault.NoPlace, "Invalid kind: there are %d", len(allKinds))
	}
	s.where(`kind IN (?`+strings.Repeat(`,?`, len(kinds)-1)+`)`, kinds...)
	return nil
}

func (l *Log) stored(typ, token string) (int64, bool) {
	o, err := oid.Parse(token)
	t, ok := l.model.Type(typ)
	if err != nil || !ok || o.Type != typ || o.Moment != 0 {
		return 0, false
	}
	return t.Stored(o.ID), true
}

func (l *Log) shown(typ string, id int64) string {
	if t, ok := l.model.Type(typ); ok {
		id = t.Shown(id)
	}
	return oid.OID{Type: typ, ID: id}.String()
}
