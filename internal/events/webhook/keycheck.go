package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// ErrKey means that the secrets in the database are sealed (encrypted) with another key.
var ErrKey = errors.New("the secret key is not the key of this database")

// checkText is the check value. It is stored sealed (encrypted), so that CheckKey can later
// recognize the key.
const checkText = "alds secret key check"

// CheckKey checks that the key of a box opens the sealed check value in the database. If there is
// no check value yet, CheckKey stores one. It returns ErrKey if the key does not open the check
// value. Without a check value, it returns ErrKey if the database has sealed secrets and the key
// opens none of them.
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
		if known, err = readKeyCheck(ctx, d); err != nil { // another process has stored a check value in the meantime
			return err
		}
	}
	if text, err := box.Open(known); err != nil || string(text) != checkText {
		return ErrKey
	}
	return nil
}

// readKeyCheck returns the sealed check value, or an empty text if there is no check value.
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

// opensSome checks that the key of a box opens at least one of the sealed secrets. It returns
// ErrKey if there are secrets and the key opens none of them. If the key opens only some of them,
// opensSome logs the number of the other secrets.
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
		log.Warn("secrets of subscriptions cannot be opened with the key that is set", "count", failed)
	}
	return nil
}
