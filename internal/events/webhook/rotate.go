package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/store/db"
)

// sealedColumns are the columns of webhook_subscription with sealed texts.
var sealedColumns = []string{"authorization", "secret", "previous_secret"}

// RotateKey seals all stored secrets with the first key of a box. Texts that are already sealed with
// this key do not change. RotateKey returns the number of changed texts, including the check value
// of CheckKey. It may run while subscriptions change: it does not change a secret that is written
// meanwhile.
// Errors: a secret that no key of the box opens; RotateKey still seals all other secrets.
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
	if err != nil || known == "" || failed != nil { // after a failure the check value keeps its key
		return renewed, errors.Join(failed, err)
	}
	changed, err := renew(ctx, d, box, known, "UPDATE secret_check SET sealed = ? WHERE id = ? AND sealed = ?", 1)
	return renewed + changed, err
}

// renew seals a text with the first key of a box, if another key has sealed it. The statement
// update stores the result only if the row still has the old text. renew returns the number of
// changed rows.
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
