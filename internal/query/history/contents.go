package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// scanned is the maximum number of assets that are searched at once for references to contents.
const scanned = 200

// holders returns the types whose versions may refer to contents (the bytes of attachments). For
// each type it returns the keys of attrs that have such references.
func holders(m *meta.Model) map[*meta.Type][]string {
	all := map[*meta.Type][]string{}
	for _, t := range m.Types {
		for _, a := range slices.Concat(t.Attrs, t.Kept) {
			if !t.Abstract && a.Kind == meta.Blob && a.Place.Kind == meta.InAttrs {
				all[t] = append(all[t], a.Place.Column)
			}
		}
	}
	return all
}

// hashes returns the hashes of the contents to which the JSON object attrs refers. It reads only
// the members whose names are in keys. A reference has the form sha256:<hash>:<size>.
func hashes(attrs string, keys []string) (all []string) {
	// Invalid JSON is ignored here. The command check reports it.
	_ = value.Members(attrs, func(key string, v jsontext.Token) error {
		if v.Kind() == '"' && slices.Contains(keys, key) {
			if parts := strings.Split(v.String(), ":"); len(parts) == 3 {
				all = append(all, parts[1])
			}
		}
		return nil
	})
	return all
}

// contents marks contents as doubted: perhaps no version refers to them any more. It marks a
// content if a version in doomed refers to the content, but no version of the same asset that stays
// in next does.
func (s *step) contents(ctx context.Context, next, doomed []version) error {
	keys := holders(s.m)
	holds := func(v version) bool { t, ok := s.m.TypeByCode(v.code); return ok && keys[t] != nil }
	next = slices.DeleteFunc(slices.Clone(next), func(v version) bool {
		return slices.ContainsFunc(doomed, func(o version) bool { return o.id == v.id && o.moment == v.moment })
	})
	goes, stays := map[int64][]string{}, map[int64][]string{}
	for of, versions := range map[*map[int64][]string][]version{&goes: doomed, &stays: next} {
		for part := range slices.Chunk(slices.DeleteFunc(slices.Clone(versions), func(v version) bool { return !holds(v) }), 100) {
			if err := s.held(ctx, part, keys, *of); err != nil {
				return err
			}
		}
	}
	var gone []string
	for id, all := range goes {
		for _, hash := range all {
			if !slices.Contains(stays[id], hash) {
				gone = append(gone, hash)
			}
		}
	}
	if len(gone) == 0 || s.p.Contents == nil {
		return nil
	}
	return s.p.Contents.Doubt(ctx, s.tx, unique(gone))
}

// hasAttrs is the SQL condition that a version has attrs.
const hasAttrs = "(v.attrs IS NOT NULL OR v.attrs_hash IS NOT NULL)"

// held finds the hashes of the contents to which the versions of part refer. It adds them to the
// map named to, by the id of the asset. keys is as returned by holders.
func (s *step) held(ctx context.Context, part []version, keys map[*meta.Type][]string, to map[int64][]string) error {
	pairs := make([][2]int64, len(part))
	for i, v := range part {
		pairs[i] = [2]int64{v.id, v.moment}
	}
	if len(pairs) == 0 {
		return nil
	}
	condition, args := s.tx.Dialect().Pairs("v", pairs)
	return db.Each(ctx, s.tx, `SELECT v.id, v.type, `+db.OfVersion("v", "attrs")+` FROM asset_version v WHERE `+hasAttrs+` AND `+condition, args, func(row db.Scanner) error {
		var id int64
		var code int
		var attrs string
		err := row.Scan(&id, &code, &attrs)
		t, _ := s.m.TypeByCode(code)
		to[id] = append(to[id], hashes(attrs, keys[t])...)
		return err
	})
}

// search is a search for versions that refer to doubted contents.
type search struct {
	doubted map[string]bool         // by hash; true: a version refers to the content
	before  int64                   // all doubts are older than this instant; UTC microseconds
	types   []*meta.Type            // types that are not searched yet; the first is partly searched
	keys    map[*meta.Type][]string // as returned by holders
	last    int64                   // id of the last searched asset of the first type in types
}

// settle is one step of the decision about doubted contents. It searches some of the assets that may
// refer to contents. After the last assets, it keeps the contents to which a version refers, and
// releases the others. A search may take longer than a run; the next run of this process continues
// it.
func (p *Pruner) settle(ctx context.Context) (n removed, more bool, err error) {
	if p.Contents == nil {
		return n, false, nil
	}
	if p.search == nil {
		if p.search, err = p.newSearch(ctx); err != nil || p.search == nil {
			return n, false, err
		}
	}
	found, err := p.look(ctx, p.search)
	if err != nil {
		return n, false, fmt.Errorf("find versions that refer to contents: %w", err)
	}
	if !found {
		return n, true, nil
	}
	var held, others []string
	for hash, isHeld := range p.search.doubted {
		if isHeld {
			held = append(held, hash)
		} else {
			others = append(others, hash)
		}
	}
	if err := p.Contents.Settle(ctx, p.search.before, held, others); err != nil {
		return n, false, err
	}
	p.search, n.contents = nil, len(others)
	return n, true, nil
}

// newSearch begins a search. It returns nil if no content is doubted.
func (p *Pruner) newSearch(ctx context.Context) (*search, error) {
	hashes, before, err := p.Contents.Doubted(ctx)
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	s := &search{doubted: map[string]bool{}, before: before, keys: holders(p.Model())}
	for _, hash := range hashes {
		s.doubted[hash] = false
	}
	s.types = slices.Collect(maps.Keys(s.keys))
	return s, nil
}

// look searches the next assets. It reports whether the search has ended.
func (p *Pruner) look(ctx context.Context, s *search) (ended bool, err error) {
	if len(s.types) == 0 {
		return true, nil
	}
	t := s.types[0]
	ids, err := db.Column[int64](ctx, p.db, `SELECT id FROM asset WHERE type = ? AND id > ? ORDER BY id LIMIT ?`, t.Code, s.last, scanned)
	if err != nil {
		return false, err
	}
	if len(ids) == 0 {
		s.types, s.last = s.types[1:], 0
		return false, nil
	}
	in, args := db.InArgs(ids)
	err = db.Each(ctx, p.db, `SELECT `+db.OfVersion("v", "attrs")+` FROM asset_version v WHERE v.id IN `+in+` AND `+hasAttrs, args, func(row db.Scanner) error {
		var attrs string
		err := row.Scan(&attrs)
		for _, hash := range hashes(attrs, s.keys[t]) {
			if _, ok := s.doubted[hash]; ok {
				s.doubted[hash] = true
			}
		}
		return err
	})
	if err == nil {
		s.last = ids[len(ids)-1]
	}
	return false, err
}
