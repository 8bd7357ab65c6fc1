package tags

import (
	"context"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/collation"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// attribute is the name of the attribute that contains the tags of an asset.
const attribute = "TaggedWith"

// Service reads and changes tags. It is safe for concurrent use.
type Service struct {
	assets *asset.Engine
	model  *meta.Model
	db     *db.DB
	codes  []int64      // attribute codes of TaggedWith on all types
	rights meta.RoleSet // the roles that may change tags on all assets of a project

	ruled      []*meta.Type // types with tags and with a rule of their own for who may see an asset
	ruledCodes []int64      // codes of the types in ruled
}

// New returns the service for a write engine.
func New(assets *asset.Engine) *Service {
	s := &Service{assets: assets, model: assets.Model(), db: assets.DB()}
	if k := s.model.Rights.Kind("tags"); k != nil {
		s.rights = k.Roles(meta.ToChange, "")
	}
	for _, t := range s.model.Types {
		a, ok := t.Attr(attribute)
		if ok && a.Place.Kind == meta.InValues && !slices.Contains(s.codes, int64(a.Place.Code)) {
			s.codes = append(s.codes, int64(a.Place.Code))
		}
		if ok && !t.Abstract && !t.Seen.IsZero() {
			s.ruled = append(s.ruled, t)
			s.ruledCodes = append(s.ruledCodes, int64(t.Code))
		}
	}
	return s
}

// Tag is one tag with its counts.
type Tag struct {
	Tag     string `json:"tag"`
	Count   int    `json:"count"`        // assets in all projects, without deleted assets; 0 if Visible is 0
	Visible int    `json:"visibleCount"` // assets that the caller may see
}

// One returns one tag. If the caller may see no asset with the tag, both counts are 0.
// Shape: {"tag":"UX","count":3,"visibleCount":2}.
func (s *Service) One(ctx context.Context, who auth.Actor, tag string) ([]byte, error) {
	t, err := s.one(ctx, who, tag)
	if err != nil {
		return nil, err
	}
	return value.Marshal(t)
}

func (s *Service) one(ctx context.Context, who auth.Actor, tag string) (Tag, error) {
	found, err := s.read(ctx, who, ` AND v.folded = ?`, folding.Of(tag))
	if err != nil || len(found) == 0 {
		return Tag{Tag: tag}, err
	}
	return found[0], nil
}

// All returns all visible tags. The key of each tag is its name with a lower-case first letter.
// Shape: {"uX":{"tag":"UX","count":3,"visibleCount":2}}.
func (s *Service) All(ctx context.Context, who auth.Actor) ([]byte, error) {
	found, err := s.read(ctx, who, "")
	if err != nil {
		return nil, err
	}
	all := make(map[string]Tag, len(found))
	for _, t := range found {
		all[withSmallFirst(t.Tag)] = t
	}
	return value.Marshal(all)
}

// withSmallFirst returns a tag with a lower-case first letter, unless that would be a
// different tag.
func withSmallFirst(tag string) string {
	first, size := utf8.DecodeRuneInString(tag)
	if small := string(unicode.ToLower(first)); folding.Equal(small, tag[:size]) {
		return small + tag[size:]
	}
	return tag
}

// Search returns the visible tags that contain term, sorted.
// Shape: ["Test","Testing"].
func (s *Service) Search(ctx context.Context, who auth.Actor, term string) ([]byte, error) {
	found, err := s.read(ctx, who, "")
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, t := range found {
		if folding.Contains(t.Tag, term) {
			names = append(names, t.Tag)
		}
	}
	return value.Marshal(names)
}

// read returns the visible tags with their counts, sorted. It leaves out a tag if the caller may
// see no asset with the tag. Tags with equal folded forms count as one tag, with the spelling of
// the first visible use. The parameter and is a further SQL condition. The parameter more
// contains the arguments of this condition.
func (s *Service) read(ctx context.Context, who auth.Actor, and string, more ...any) ([]Tag, error) {
	in, args := db.InArgs(s.codes)
	ruled, ruledArgs := db.InArgs(s.ruledCodes)
	args = append(slices.Concat(ruledArgs, args, []any{db.Forever, meta.StateDeleted}), more...)
	if who.Bounds.LimitsReading() {
		types, typeArgs := db.InArgs(s.readable(who))
		and, args = and+` AND a.type IN `+types, append(args, typeArgs...)
	}
	var all []Tag
	err := s.db.One(db.WithMember(ctx, who.Member), func(q db.Querier) error {
		uses, err := readUses(ctx, q, `SELECT folded, MIN(value), scope_id, ruled, COUNT(*) FROM (`+
			`SELECT v.folded, v.value, a.scope_id, CASE WHEN a.type IN `+ruled+` THEN a.id END ruled FROM asset_value v JOIN asset a ON a.id = v.from_id`+
			` WHERE v.attribute IN `+in+` AND v.until_moment = ? AND a.state < ? AND NOT `+sqlgen.InHidden("a.scope_id")+and+
			`) u GROUP BY folded, scope_id, ruled ORDER BY folded, scope_id, ruled`, args)
		if err == nil {
			all, err = s.counted(ctx, q, who, uses)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	all = slices.DeleteFunc(all, func(t Tag) bool { return t.Visible == 0 })
	slices.SortStableFunc(all, func(a, b Tag) int { return collation.Compare(a.Tag, b.Tag) })
	return all, nil
}

// readable returns the codes of the types with tags that the access token of the actor reads.
func (s *Service) readable(who auth.Actor) (codes []int64) {
	for _, t := range s.model.Types {
		if _, ok := t.Attr(attribute); ok && !t.Abstract && who.Bounds.Reads(t) {
			codes = append(codes, int64(t.Code))
		}
	}
	return codes
}

// use is the number of assets in one project that have a tag. An asset whose type has its own
// rule of visibility gets a separate use, and ruled is the id of the asset.
type use struct {
	folded, tag  string
	scope, ruled *int64
	count        int
}

func readUses(ctx context.Context, q db.Querier, statement string, args []any) ([]use, error) {
	return db.Collect(ctx, q, statement, args, func(row db.Scanner) (u use, err error) {
		err = row.Scan(&u.folded, &u.tag, &u.scope, &u.ruled, &u.count)
		return u, err
	})
}

// counted adds up the uses of each tag: all uses in Count, and the uses that the actor may see in
// Visible. uses must be sorted by their folded tags.
func (s *Service) counted(ctx context.Context, q db.Querier, who auth.Actor, uses []use) ([]Tag, error) {
	var ids []int64
	for _, u := range uses {
		if u.ruled != nil {
			ids = append(ids, *u.ruled)
		}
	}
	seen, err := s.assets.Seen(ctx, q, who, s.ruled, ids)
	if err != nil {
		return nil, err
	}
	var all []Tag
	last := ""
	for _, u := range uses {
		if len(all) == 0 || last != u.folded {
			last = u.folded
			all = append(all, Tag{})
		}
		t := &all[len(all)-1]
		t.Count += u.count
		if u.ruled != nil && !seen[*u.ruled] || u.ruled == nil && u.scope != nil && !who.Reads(*u.scope) {
			continue
		}
		if t.Visible == 0 {
			t.Tag = u.tag
		}
		t.Visible += u.count
	}
	return all, nil
}
