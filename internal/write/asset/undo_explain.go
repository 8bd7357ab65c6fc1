package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// Undoes tells the session the assets of all Undo commands of the request, before it runs them. The ranks
// of these assets do not count as changed since. assets has stored ids, and since is the first moment that
// the request takes back. steps are the ids of audit rows of earlier steps of the undo: what they have changed
// does not count either.
func (s *Session) Undoes(assets map[int64]bool, since int64, steps []int64) {
	s.undoes, s.undoSince, s.undoSteps = assets, since, steps
}

// ownWrite reports whether an audit row is that of the request, or of an earlier step of the same undo.
func (s *Session) ownWrite(audit int64) bool {
	return audit == s.audit || slices.Contains(s.undoSteps, audit)
}

// Explain reads who has made the changes that are conflicts, and when.
func (s *Session) Explain(ctx context.Context, conflicts []Conflict) error {
	for i := range conflicts {
		c := &conflicts[i]
		if c.by == 0 {
			var err error
			if c.by, err = s.lastChange(ctx, c); err != nil {
				return fmt.Errorf("explain a conflict: %w", err)
			}
		}
		if err := s.explain(ctx, c); err != nil {
			return fmt.Errorf("explain a conflict: %w", err)
		}
	}
	return nil
}

// explain sets the fields of a conflict from the version of its change.
func (s *Session) explain(ctx context.Context, c *Conflict) error {
	var member int64
	err := s.tx.QueryRow(ctx, `SELECT moment, changed_at, changed_by FROM asset_version WHERE moment = ? LIMIT 1`, c.by).
		Scan(&c.Moment, &c.At, &member)
	if fault.KindOf(err) == fault.NotFound || s.e.layout.member == nil {
		return nil
	}
	if err != nil {
		return err
	}
	sees, known := s.who.SeesMember(member)
	if !known {
		t := s.e.layout.member
		found, err := s.e.finder.Seen(ctx, s.tx, s.Who(), []*meta.Type{t}, []int64{member})
		if err != nil {
			return err
		}
		sees = found[member]
	}
	if sees {
		c.By = oid.OID{Type: s.e.layout.member.Name, ID: s.e.layout.member.Shown(member)}.String()
	}
	return nil
}

// lastChange returns the moment at which the attribute of a conflict has changed last, or 0 if it is
// not known.
func (s *Session) lastChange(ctx context.Context, c *Conflict) (moment int64, err error) {
	column := "v.moment"
	switch {
	case c.state:
		column = "v.state"
	case c.attr == nil:
	case c.attr.Place.Kind == meta.InColumn:
		column = db.OfVersion("v", c.attr.Place.Column)
	case c.attr.Place.Kind == meta.InAttrs:
		column = db.OfVersion("v", "attrs")
	default:
		return s.lastLink(ctx, c)
	}
	var last any
	first := true
	query := `SELECT v.moment, ` + column + ` FROM asset_version v WHERE v.id = ? AND v.moment >= ? ORDER BY v.moment`
	err = db.Each(ctx, s.tx, query, []any{c.id, c.since}, func(scan db.Scanner) error {
		var at int64
		var now any
		if err := scan.Scan(&at, &now); err != nil {
			return err
		}
		if c.attr != nil && c.attr.Place.Kind == meta.InAttrs {
			attrs, err := stored.Parse(textOf(now))
			if err != nil {
				return err
			}
			now = attrs.Get(c.attr)
		} else {
			now = value.FromColumn(meta.Str, now)
		}
		if !first && now != last {
			moment = at
		}
		first, last = false, now
		return nil
	})
	return moment, err
}

// lastLink returns the moment at which a link or value of the attribute has begun or ended last.
func (s *Session) lastLink(ctx context.Context, c *Conflict) (moment int64, err error) {
	table, code, end := "asset_link", "relation", "from_id"
	switch c.attr.Place.Kind {
	case meta.InLinksBack:
		end = "to_id"
	case meta.InValues:
		table, code = "asset_value", "attribute"
	}
	query := `SELECT since_moment, until_moment FROM ` + table + ` WHERE ` + code + ` = ? AND ` + end + ` = ?` +
		` AND (since_moment > ? OR until_moment > ?)`
	err = db.Each(ctx, s.tx, query, []any{c.attr.Place.Code, c.id, c.since, c.since}, func(scan db.Scanner) error {
		var since, until int64
		err := scan.Scan(&since, &until)
		moment = max(moment, since)
		if until != db.Forever {
			moment = max(moment, until)
		}
		return err
	})
	return moment, err
}
