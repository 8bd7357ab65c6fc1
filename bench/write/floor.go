package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/store/db"
)

// hand is the floor, with which alds is compared: it writes with hand-written SQL. It uses
// db.InsertN for multi-row statements, so an improvement there also improves the floor.
type hand struct {
	db *db.DB

	mu        sync.Mutex
	next, end int64 // reserved ids
}

const (
	typeStory, typeTask = 4, 7
	admin               = 20
	owners              = 1 // number of the relation Story.Owners
)

var (
	storyColumns = strings.Fields(`id type state moment audit_id created_moment created_at created_by changed_at changed_by
		name number description scope_id parent_id order_key estimate`)
	versionColumns = append(append([]string(nil), storyColumns...), "until_moment", "linked")
	linkColumns    = []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}
)

// ids returns the first of n ids. It reserves ids in blocks, like alds.
func (h *hand) ids(ctx context.Context, n int) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end-h.next < int64(n) {
		size := int64(max(1000, n))
		err := h.db.Write(ctx, func(tx *db.Tx) error {
			last, err := advance(ctx, tx, "id", size)
			h.next, h.end = last-size+1, last+1
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	h.next += int64(n)
	return h.next - int64(n), nil
}

// advance advances a sequence and returns its new value.
func advance(ctx context.Context, tx *db.Tx, name string, n int64) (value int64, err error) {
	r, err := tx.Exec(ctx, `UPDATE sequence SET value = LAST_INSERT_ID(value + ?) WHERE name = ?`, n, name)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// stamp is a range of moments and Numbers, with their time in microseconds.
type stamp struct{ moment, number, at int64 }

// take reserves moments and story Numbers, and writes the time of the moments to moment_stamp.
func take(ctx context.Context, tx *db.Tx, moments, numbers int) (s stamp, err error) {
	if numbers > 0 {
		if s.number, err = advance(ctx, tx, "number:Story", int64(numbers)); err != nil {
			return s, err
		}
		s.number -= int64(numbers) - 1
	}
	_, err = tx.Exec(ctx, `UPDATE sequence SET value = value + ?, stamped_at = GREATEST(stamped_at,
		CAST(UNIX_TIMESTAMP(NOW(3)) * 1000000 AS SIGNED)) WHERE name = 'moment'`, moments)
	if err != nil {
		return s, err
	}
	if err := tx.QueryRow(ctx, `SELECT value, stamped_at FROM sequence WHERE name = 'moment'`).Scan(&s.moment, &s.at); err != nil {
		return s, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, s.moment, s.at)
	s.moment -= int64(moments) - 1
	return s, err
}

// audit writes the row of a write to the table audit, from which workers make webhook events.
func (h *hand) audit(ctx context.Context, tx *db.Tx, id int64, s stamp, moments int) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, token_id, application, generation)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, value FROM sequence WHERE name = 'webhook' LOCK IN SHARE MODE`,
		id, uuid.NewString(), admin, s.at, s.moment, s.moment+int64(moments)-1, uuid.Nil.String(), "bench")
	return err
}

// create creates n stories in one transaction. pair returns the two owners of a story; nil
// means no owners.
func (h *hand) create(ctx context.Context, n int, pair func(int) (int64, int64)) error {
	id, err := h.ids(ctx, n)
	if err != nil {
		return err
	}
	return h.db.Write(ctx, func(tx *db.Tx) error {
		audit, err := advance(ctx, tx, "audit", 1)
		if err != nil {
			return err
		}
		s, err := take(ctx, tx, n, n)
		if err != nil {
			return err
		}
		if err := h.audit(ctx, tx, audit, s, n); err != nil {
			return err
		}
		linked := 0
		if pair != nil {
			linked = 1
		}
		if err := insert(ctx, tx, n, linked, func(row []any, i int) { storyRow(row, s, audit, id, i) }); err != nil || pair == nil {
			return err
		}
		link := make([]any, len(linkColumns))
		return db.InsertN(ctx, tx, "asset_link", linkColumns, 2*n, func(i int) []any {
			to, two := pair(i / 2)
			if i%2 == 1 {
				to = two
			}
			link[0], link[1], link[2], link[3], link[4], link[5] = owners, typeStory, id+int64(i/2), to, s.moment+int64(i/2), db.Forever
			return link
		})
	})
}

// nested creates n stories with tasks in one transaction.
func (h *hand) nested(ctx context.Context, n int) error {
	all := n * (1 + children)
	id, err := h.ids(ctx, all)
	if err != nil {
		return err
	}
	return h.db.Write(ctx, func(tx *db.Tx) error {
		audit, err := advance(ctx, tx, "audit", 1)
		if err != nil {
			return err
		}
		tasks, err := advance(ctx, tx, "number:Task", int64(n*children))
		if err != nil {
			return err
		}
		s, err := take(ctx, tx, all, n)
		if err != nil {
			return err
		}
		if err := h.audit(ctx, tx, audit, s, all); err != nil {
			return err
		}
		return insert(ctx, tx, all, 0, func(row []any, i int) {
			storyRow(row, s, audit, id, i)
			if i%(1+children) == 0 {
				return
			}
			row[1], row[10], row[12], row[16] = typeTask, "Task "+strconv.Itoa(i), nil, nil
			row[11] = "TK-" + strconv.FormatInt(tasks-int64(i), 10)
			row[14] = id + int64(i-i%(1+children))
		})
	})
}

// storyRow fills the columns of the ith story.
func storyRow(row []any, s stamp, audit, id int64, i int) {
	moment := s.moment + int64(i)
	row[0], row[1], row[2], row[3], row[4], row[5] = id+int64(i), typeStory, 64, moment, audit, moment
	row[6], row[7], row[8], row[9] = s.at, admin, s.at, admin
	row[10], row[11], row[12] = "Story "+strconv.Itoa(i), fmt.Sprintf("S-%05d", s.number+int64(i)), text
	row[13], row[14], row[15], row[16] = 0, nil, 1<<24+moment<<5, 3
}

// insert writes assets and their versions.
func insert(ctx context.Context, tx *db.Tx, n, linked int, fill func(row []any, i int)) error {
	row := make([]any, len(versionColumns))
	row[len(row)-2], row[len(row)-1] = db.Forever, linked
	err := db.InsertN(ctx, tx, "asset", storyColumns, n, func(i int) []any {
		fill(row, i)
		return row[:len(storyColumns)]
	})
	if err != nil {
		return err
	}
	return db.InsertN(ctx, tx, "asset_version", versionColumns, n, func(i int) []any {
		fill(row, i)
		return row
	})
}
