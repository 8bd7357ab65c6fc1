package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// sides has the two sides that are compared: the service with its client, and the floor, which
// is hand-written SQL.
type sides struct {
	*rig.Conn
	addr, token string
	asMember    string // token of a Team Member in all projects
	db          *db.DB
	hand        *hand
	members     []int64 // possible owners
	n           int
}

func newSides(ctx context.Context, d *rig.Database, addr string) (*sides, error) {
	token, err := rig.Token(ctx, d.DB, "admin")
	if err != nil {
		return nil, err
	}
	s := &sides{addr: addr, token: token, db: d.DB, hand: &hand{db: d.DB}}
	if s.Conn, err = rig.Dial(addr); err != nil {
		return nil, err
	}
	s.members, err = s.post(many(50, func(i int) string {
		return fmt.Sprintf(`{"AssetType":"Member","Name":"Member %d","Nickname":"m%d","DefaultRole":"Role:4","Username":"m%d","Scopes":["Scope:0"]}`, i, i, i)
	}))
	if err == nil {
		s.asMember, err = rig.Token(ctx, d.DB, "m1")
	}
	return s, err
}

func (s *sides) close() { _ = s.Close() }

// request returns a bulk request that the System Admin sends.
func (s *sides) request(body string) []byte { return rig.Post("/alds/api/asset", s.token, body) }

// requestOf returns the request for one repetition of w.
func (s *sides) requestOf(w work, a about) []byte {
	if w.member {
		return rig.Post("/alds/api/asset", s.asMember, w.body(a))
	}
	return s.request(w.body(a))
}

// answer is the answer to a bulk request.
type answer struct {
	AssetsCreated, AssetsModified, AssetsOperatedOn struct {
		OidTokens []string
		Count     int
	}
	CommandFailures struct {
		Count    int
		Commands []json.RawMessage
	}
}

// post sends a bulk request and returns the ids of the created assets.
func (s *sides) post(body string) ([]int64, error) {
	raw, err := s.Ask(s.request(body))
	if err != nil {
		return nil, err
	}
	a, err := read(raw)
	if err != nil {
		return nil, err
	}
	made := make([]int64, len(a.AssetsCreated.OidTokens))
	for i, token := range a.AssetsCreated.OidTokens {
		_, id, _ := strings.Cut(token, ":")
		if made[i], err = strconv.ParseInt(id, 10, 64); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func read(raw []byte) (a answer, err error) {
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, err
	}
	if a.CommandFailures.Count > 0 {
		return a, fmt.Errorf("%d commands failed, the first: %.300s", a.CommandFailures.Count, a.CommandFailures.Commands[0])
	}
	return a, nil
}

// ready creates the assets for the next repetition of a work.
func (s *sides) ready(ctx context.Context, w work) (about, error) {
	a, err := w.before(ctx, s)
	s.n++
	a.n = s.n
	return a, err
}

// agree checks that both sides leave the same rows in the database.
func agree(ctx context.Context, s *sides, rows []work) error {
	for _, w := range rows {
		a, err := s.ready(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		service, err := s.trace(ctx, func() error { return s.ask(w, a) })
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		for _, floor := range []func(context.Context, *hand, about) error{s.floorOf(w), w.less} {
			if floor == nil {
				continue
			}
			if a, err = s.ready(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			byHand, err := s.trace(ctx, func() error { return floor(ctx, s.hand, a) })
			if err != nil {
				return fmt.Errorf("%s, floor: %w", w.name, err)
			}
			if service != byHand {
				return fmt.Errorf("%s: the sides differ\nservice:\n%s\nfloor:\n%s", w.name, service, byHand)
			}
		}
	}
	return nil
}

// ask sends the request for one repetition of w and checks the number of changed assets.
func (s *sides) ask(w work, a about) error {
	return s.expect(w, s.requestOf(w, a))
}

// floorOf returns what the service is compared with: hand-written SQL, or the same request sent by
// the System Admin.
func (s *sides) floorOf(w work) func(context.Context, *hand, about) error {
	if !w.member {
		return w.floor
	}
	return func(_ context.Context, _ *hand, a about) error { return s.expect(w, s.request(w.body(a))) }
}

func (s *sides) expect(w work, request []byte) error {
	raw, err := s.Ask(request)
	if err != nil {
		return err
	}
	got, err := read(raw)
	if n := got.AssetsCreated.Count + got.AssetsModified.Count + got.AssetsOperatedOn.Count; err == nil && n != w.assets {
		err = fmt.Errorf("%d assets made or changed, want %d", n, w.assets)
	}
	return err
}

// traced are the tables that a write changes, with their column for the moment. moment_stamp
// is not included, because the two sides may add different numbers of rows to it.
var traced = [...]struct{ table, moment string }{
	{"asset", "moment"}, {"asset_version", "moment"}, {"asset_link", "since_moment"}, {"audit", "first_moment"},
}

// trace describes the effects of a write: the number of rows in each table, how many of them
// have a value in each column, and the number of versions that ended.
func (s *sides) trace(ctx context.Context, write func() error) (string, error) {
	var before int64
	if err := s.db.QueryRow(ctx, "SELECT value FROM sequence WHERE name = 'moment'").Scan(&before); err != nil {
		return "", err
	}
	if err := write(); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, t := range traced {
		columns, err := s.columns(ctx, t.table)
		if err != nil {
			return "", err
		}
		var rows int64
		counts := make([]int64, len(columns))
		into := []any{&rows}
		query := "SELECT COUNT(*)"
		for i, c := range columns {
			query += ", COUNT(`" + c + "`)"
			into = append(into, &counts[i])
		}
		err = s.db.QueryRow(ctx, query+" FROM "+t.table+" WHERE "+t.moment+" > ?", before).Scan(into...)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d %v\n", t.table, rows, counts)
	}
	var ended int64
	err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM asset_version WHERE until_moment > ? AND until_moment < ?", before, db.Forever).Scan(&ended)
	fmt.Fprintf(&b, "%d versions ended\n", ended)
	return b.String(), err
}

func (s *sides) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := s.db.Query(ctx, `SELECT column_name FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position`, table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}
