package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/store/db"
)

// sealedColumns are the columns of webhook_subscription with sealed (encrypted) texts.
var sealedColumns = []string{"authorization", "secret", "previous_secret"}

// RotateKey seals (encrypts) all stored secrets with the first key of a box. It does not change
// texts that are already sealed with this key. It returns the number of changed texts, including
// the check value of CheckKey. It may run while subscriptions change: a secret that is written in
// the meantime is not overwritten. RotateKey returns an error if a secret cannot be opened with any
// key of the box, but still seals all other secrets.
func RotateKey(ctx context.Context, d *db.DB, box *secret.Box) (renewed int, err error) {
	type stored struct{ id, sealed string }
	var failed error
	for _, column := range sealedColumns {
		name := d.Dialect.Quote(column)
		all, err := db.Collect(ctx, d, "SELECT id, "+name+" FROM webhook_subscription WHERE "+name+" <> ''", nil, func(row db.Scanner) (s stored, err error) {
			return s, row.Scan(&s.id, &s.sealed)
		})
		if err != nil {
			return renewed, err
		}
		for _, s := range all {
			changed, err := renew(ctx, d, box, s.sealed, "UPDATE webhook_subscription SET "+name+" = ? WHERE id = ? AND "+name+" = ?", s.id)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s of subscription %s: %w", column, s.id, err))
			}
			renewed += changed
		}
	}
	known, err := readKeyCheck(ctx, d)
	if err != nil || known == "" || failed != nil { // after a failure the check value stays sealed with the old key
		return renewed, errors.Join(failed, err)
	}
	changed, err := renew(ctx, d, box, known, "UPDATE secret_check SET sealed = ? WHERE id = ? AND sealed = ?", 1)
	return renewed + changed, err
}

// renew seals a text with the first key of a box if the text is sealed with another key. The SQL
// statement update stores the result only if the row still contains the old text. renew returns the
// number of changed rows.
func renew(ctx context.Context, d *db.DB, box *secret.Box, sealed, update string, id any) (int, error) {
	again, changed, err := box.Renew(sealed)
	if err != nil || !changed {
		return 0, err
	}
	r, err := d.Exec(ctx, update, again, id, sealed)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}
