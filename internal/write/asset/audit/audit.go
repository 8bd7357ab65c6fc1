package audit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/write/asset/sequence"
)

// Log allocates the ids of audit rows, and finds out whether a request was committed. It is safe
// for concurrent use.
type Log struct {
	db  *db.DB
	ids *sequence.Block
}

// New returns the log of a database.
func New(d *db.DB) *Log { return &Log{db: d, ids: sequence.NewBlock("audit", 100)} }

// NextID returns an unused id for an audit row. It may reserve more ids in tx.
func (l *Log) NextID(ctx context.Context, tx *db.Tx) (int64, error) {
	return l.ids.Next(ctx, l.db, tx, 1)
}

// Row is the row of the table audit for a request.
type Row struct {
	ID       int64
	Request  string // id of the request; unique
	Member   int64  // the member that made the request
	Comment  string // may be empty
	First    int64  // the first moment of the request; 0 if the request has changed nothing
	Last     int64  // the last moment of the request
	Imported bool
	Trace    string // traceparent; empty: none
	// Application is the name of that access token, and Tool what the client calls the function that sent the
	// request; empty: unknown.
	Application, Tool string
	Token             string // id of the access token of the request; empty: none
	Reason            string // why the request changes something: the Oid of the proposal that it applies; empty: none

	// Model is the generation that the model must have at the commit; 0: any generation.
	Model int64
	// Unwatched is a generation of the webhook subscriptions in which no subscription is enabled;
	// -1: unknown.
	Unwatched int64
}

// Insert inserts the row. quiet is true if the row needs no fan-out, which creates the deliveries
// for webhooks. This is the case if the request changed nothing, or if no subscription is enabled
// at the current generation of the subscriptions. quiet is always false if the database does not
// return values from an INSERT. If the database refuses the row, the error may come from a later
// statement or from the commit.
// Errors: fault.Conflict for a second request with the same id; see RefusesModel.
func Insert(ctx context.Context, tx *db.Tx, r Row) (quiet bool, err error) {
	var folded any
	if !folding.IsPlain(r.Comment) {
		folded = folding.Of(r.Comment)
	}
	imported := int64(0)
	if r.Imported {
		imported = 1
	}

	from, unwatched := r.generations()
	args := append([]any{
		r.ID, r.Request, r.Member, orNull(r.Comment), folded, r.First, r.Last, imported, orNull(r.Trace), orNull(r.Token), orNull(r.Reason),
		orNull(inFoldableForm(r.Application)), orNull(r.Tool),
	}, unwatched...)
	insert := `INSERT INTO audit` +
		` (id, request_id, actor_id, at, comment, folded, first_moment, last_moment, imported, traceparent, token_id, reason, application, tool,` +
		` generation, fan_state)` +
		` SELECT ?, ?, ?, ` + tx.Dialect().NowMicros + `, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ` + from
	if tx.Dialect().Returning {
		err = tx.QueryRow(ctx, insert+` RETURNING fan_state <> 0`, args...).Scan(&quiet)
	} else { // the statement goes to the database server together with the next statement
		_, err = tx.Later().Exec(ctx, insert, args...)
	}
	if err != nil {
		return false, fmt.Errorf("write the audit: %w", err)
	}
	return quiet, nil
}

// orNull returns nil for an empty text.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// inFoldableForm returns a text that databases compare as alds does. A text that they would compare in another way is
// replaced by its folded form, because the audit has no folded form of it.
func inFoldableForm(text string) string {
	if folding.IsPlain(text) {
		return text
	}
	return folding.Of(text)
}

// generations returns the end of the statement of Insert, and the arguments for it. This end
// selects the values of two columns. The column generation gets the generation of the subscriptions.
// The column fan_state gets 1 if no fan-out is needed, else 0. If the generation of the model is
// not Model, the value for the column generation is NULL. The column refuses NULL; see
// RefusesModel.
func (r *Row) generations() (from string, args []any) {
	ifCurrent := func(value string) string {
		return `CASE m.value WHEN ` + strconv.FormatInt(r.Model, 10) + ` THEN ` + value + ` END`
	}
	switch {
	case r.Last == 0 && r.Model == 0:
		return `0, 1`, nil
	case r.Last == 0:
		return ifCurrent(`0`) + `, 1 FROM sequence m WHERE m.name = 'model'`, nil
	}

	args = []any{r.Unwatched}
	const watched = `, CASE w.value WHEN ? THEN 1 ELSE 0 END FROM `
	if r.Model == 0 {
		return `w.value` + watched + `sequence w WHERE w.name = 'webhook'`, args
	}
	return ifCurrent(`w.value`) + watched + `sequence m JOIN sequence w ON w.name = 'webhook' WHERE m.name = 'model'`, args
}

// RefusesModel reports whether the database has refused an audit row because the model has
// another generation than Row.Model. err may come from Insert, a later statement or the commit.
func RefusesModel(err error) bool { return sqlerror.RefusesNull(err, "generation") }

// beginning is the request id in the audit row of moment 0.
const beginning = "00000000-0000-0000-0000-000000000000"

// InsertFirst inserts the audit row of moment 0 if it does not exist. The row needs no fan-out.
func InsertFirst(ctx context.Context, tx *db.Tx) error {
	var id int64
	err := tx.QueryRow(ctx, `SELECT id FROM audit WHERE id = 0`).Scan(&id)
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO audit`+
		` (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state)`+
		` VALUES (0, ?, ?, `+tx.Dialect().NowMicros+`, 0, 0, 0, 1)`, beginning, auth.SystemMember)
	return err
}
