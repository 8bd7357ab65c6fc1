package feed

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

// others contains the members other than the caller, by id.
type others map[int64]auth.Actor

// ActorOf returns one of the other members.
func (o others) ActorOf(_ context.Context, member int64) (auth.Actor, error) {
	who, ok := o[member]
	if !ok {
		return who, fault.NotFoundf("no member %d", member)
	}
	return who, nil
}

// reads is a member who is not an administrator.
var reads = auth.Actor{Member: 1001, Scopes: []int64{0}, Roles: []meta.Role{meta.ProjectAdmin}}

func newService(d *db.DB) *Service {
	return New(d, meta.Default(), Options{
		Log: NewLog(d, slog.New(slog.DiscardHandler)), Find: find.New(d, meta.Default()), Actors: others{1001: reads, 1003: {Member: 1003}},
	})
}

// commit inserts the audit of a write with the given first and last moment. The audit has no
// position.
func commit(t *testing.T, d *db.DB, id, first, last int64) {
	t.Helper()
	_, err := d.Exec(context.Background(), `INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state)
		VALUES (?, ?, 20, 0, ?, ?, 0, 1)`, id, fmt.Sprintf("request %d", id), first, last)
	if err != nil {
		t.Error(err)
	}
}

// positions returns the position of each audit, by id. The value 0 means that the audit has no
// position.
func positions(t *testing.T, d *db.DB) map[int64]int64 {
	t.Helper()
	all := map[int64]int64{}
	err := db.Each(t.Context(), d, `SELECT id, COALESCE(feed, 0) FROM audit`, nil, func(row db.Scanner) error {
		var id, position int64
		err := row.Scan(&id, &position)
		all[id] = position
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sequence returns the last position that was assigned.
func sequence(t *testing.T, d *db.DB) (value int64) {
	t.Helper()
	if err := d.QueryRow(t.Context(), `SELECT value FROM sequence WHERE name = 'feed'`).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
