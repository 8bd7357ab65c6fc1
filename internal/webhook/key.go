package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/secret"
)

// ErrKey says that a key is not the one with which secrets are sealed.
var ErrKey = errors.New("another key than the one of this database")

// checkText is what is sealed to know a key by.
const checkText = "alds secret key check"

// CheckKey compares a key with the one of the database. A database that knows
// none yet takes this one, unless it holds sealed secrets and the key opens none
// of them.
// Errors: ErrKey when it is another one.
func CheckKey(ctx context.Context, d *db.DB, box *secret.Box, log *slog.Logger) error {
	known, err := readKeyCheck(ctx, d)
	if err != nil {
		return err
	}
	if known == "" {
		if err := opensSome(ctx, d, box, log); err != nil {
			return err
		}
		_, err := d.Exec(ctx, "INSERT INTO secret_check (id, sealed) VALUES (1, ?)", box.Seal([]byte(checkText)))
		if fault.KindOf(err) != fault.Conflict {
			return err
		}
		if known, err = readKeyCheck(ctx, d); err != nil { // another process was quicker
			return err
		}
	}
	if text, err := box.Open(known); err != nil || string(text) != checkText {
		return ErrKey
	}
	return nil
}

// readKeyCheck returns the sealed check value; empty when there is none.
func readKeyCheck(ctx context.Context, d *db.DB) (sealed string, err error) {
	err = d.QueryRow(ctx, "SELECT sealed FROM secret_check WHERE id = 1").Scan(&sealed)
	if fault.KindOf(err) == fault.NotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the check value of the secret key: %w", err)
	}
	return sealed, nil
}

// opensSome reports whether a key opens any of the secrets of a database that
// does not know its key, or there are none. Those that it does not open were
// sealed while another one was set; they are told of.
// Errors: ErrKey when it opens none.
func opensSome(ctx context.Context, d *db.DB, box *secret.Box, log *slog.Logger) error {
	var rows []subscriptionRow
	err := subscriptions(d.Gorm(ctx)).Select("authorization", "secret", "previous_secret").Find(&rows).Error
	if err != nil {
		return fmt.Errorf("read sealed secrets: %w", err)
	}
	opened, failed := 0, 0
	for i := range rows {
		for _, s := range []optional{rows[i].Authorization, rows[i].Secret, rows[i].PreviousSecret} {
			if s == "" {
				continue
			}
			if _, err := box.Open(string(s)); err == nil {
				opened++
			} else {
				failed++
			}
		}
	}
	switch {
	case failed > 0 && opened == 0:
		return ErrKey
	case failed > 0:
		log.Warn("secrets of subscriptions are sealed with another key than the one that is set", "count", failed)
	}
	return nil
}
