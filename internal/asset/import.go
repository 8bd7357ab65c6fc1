package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/meta"
)

// imported is what an import says about who made an asset and who changed it last,
// and when. What is nil is as for any other new asset: the caller, and now.
type imported struct {
	createdAt, changedAt *int64 // UTC microseconds, whole milliseconds
	createdBy, changedBy *int64 // stored ids of members
	last                 *meta.Attr
}

// importable are the attributes that an import may give, all of them read-only
// otherwise.
var importable = map[string]bool{
	"CreateDate": true, "CreateDateUTC": true, "CreatedBy": true,
	"ChangeDate": true, "ChangeDateUTC": true, "ChangedBy": true,
}

// canImport reports whether a may be given for an asset: by an import that makes it.
func (r *run) canImport(w *row, a *meta.Attr) bool {
	return r.s.req.Import && w.creating() && a.Place.Kind == meta.System && importable[a.Name]
}

// setImported keeps what an import says of a.
func (r *run) setImported(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if ch.Find != nil || !ok {
		return invalid(a)
	}
	if a.Kind == meta.Relation {
		t, null, err := r.resolve(ctx, a, written)
		switch {
		case err != nil:
			return err
		case null:
			return required(a)
		case a.Name == "CreatedBy":
			w.imported.createdBy = &t.id
		default:
			w.imported.changedBy = &t.id
		}
		return nil
	}
	at, err := r.pastDate(ctx, a, written)
	if err != nil {
		return err
	}
	if a.Name == "CreateDate" || a.Name == "CreateDateUTC" {
		w.imported.createdAt = &at
	} else {
		w.imported.changedAt, w.imported.last = &at, a
	}
	return nil
}

// pastDate reads a date of the past.
func (r *run) pastDate(ctx context.Context, a *meta.Attr, written Value) (int64, error) {
	v, err := scalar(a, written)
	if err != nil {
		return 0, err
	}
	at, ok := v.(int64)
	if !ok {
		return 0, required(a)
	}
	at -= (at%1000 + 1000) % 1000 // what ChangeDate prints is exact
	now, err := r.s.clock(ctx)
	if err == nil && at > now {
		err = invalid(a)
	}
	return at, err
}

// clock is the database's time when the request first asked: no moment that is
// still to be taken is stamped earlier.
func (s *Session) clock(ctx context.Context) (int64, error) {
	if s.now == 0 {
		if err := s.tx.QueryRow(ctx, `SELECT `+s.e.db.Dialect.NowMillis).Scan(&s.now); err != nil {
			return 0, fmt.Errorf("read the clock: %w", err)
		}
	}
	return s.now, nil
}

// checkImported refuses an asset changed before it was made.
func (r *run) checkImported(ctx context.Context, w *row) error {
	if w.imported.changedAt == nil {
		return nil
	}
	made, err := r.s.clock(ctx)
	if w.imported.createdAt != nil {
		made = *w.imported.createdAt
	}
	if err == nil && *w.imported.changedAt < made {
		err = invalid(w.imported.last)
	}
	return err
}

// applyTo gives the first version of an asset what was said about it.
func (g *imported) applyTo(st *state) {
	for _, x := range [...]struct{ from, to *int64 }{
		{g.createdAt, &st.createdAt}, {g.createdBy, &st.createdBy}, {g.changedAt, &st.changedAt}, {g.changedBy, &st.changedBy},
	} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
}

// creator is the member that new assets name as their author: who sent the
// request, or whom an import says to have made the asset.
func (r *run) creator(w *row) int64 {
	if w.imported.createdBy != nil {
		return *w.imported.createdBy
	}
	return r.s.who.Member
}

// instant is an instant as it is written; that of the run is boxed already.
func (w *writer) instant(at int64) any {
	if at == batchTime {
		return w.at
	}
	return at
}

// member is a member as it is written; the acting one is boxed already.
func (w *writer) member(id int64) any {
	if id == w.s.who.Member {
		return w.who
	}
	return id
}
