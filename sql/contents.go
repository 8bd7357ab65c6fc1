package sql

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// contentTypes are the numbers of the asset types whose attribute Content has bytes. contentPart is
// the number of bytes in a stored part of such a content, as in blob.PartSize.
const (
	contentTypes = "(41, 42, 43)"
	contentPart  = 256 << 10
)

// mover moves the contents of attachments and images into the tables of package blob. Older
// releases have stored a content as Base64 in the rows of its asset. Each content is moved in one
// transaction, and a mover may run again from the start.
type mover struct {
	folder
	dialect string
}

func (m mover) run(ctx context.Context, r Runner) error {
	for _, table := range []string{"asset_version", "asset"} {
		if err := m.moveAll(ctx, r, table); err != nil {
			return err
		}
	}
	return nil
}

// moveAll moves the contents of all rows of a table. It reads the keys of the rows in batches.
func (m mover) moveAll(ctx context.Context, r Runner, table string) error {
	last := row{id: -1 << 62}
	for {
		keys, err := m.keys(ctx, r, table, last)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			if err := m.move(ctx, r, table, k); err != nil {
				return err
			}
		}
		last = keys[len(keys)-1]
	}
}

// keys returns the keys of the next rows, in order. The parameter from has the key of the last row
// that was read before.
func (m mover) keys(ctx context.Context, r Runner, table string, from row) (all []row, err error) {
	rows, err := r.QueryContext(ctx, "SELECT id, moment FROM "+table+" WHERE type IN "+contentTypes+
		" AND id >= ? AND (id > ? OR moment > ?) ORDER BY id, moment LIMIT ?", from.id, from.id, from.moment, batch)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var k row
		if err := rows.Scan(&k.id, &k.moment); err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, rows.Err()
}

// move stores the content of a row in the tables of package blob. In the row it replaces the
// content by a reference to the stored content.
func (m mover) move(ctx context.Context, r Runner, table string, k row) error {
	attrs, err := readAttrs(ctx, r, table, k)
	if err != nil || attrs == nil {
		return err
	}
	var text string
	if json.Unmarshal(attrs["Content"], &text) != nil || text == "" || strings.HasPrefix(text, "sha256:") {
		return nil
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil //nolint:nilerr // no release has written such a text; it stays unchanged
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	attrs["Content"] = fmt.Appendf(nil, "\"sha256:%s:%d\"", hash, len(content))
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(attrs); err != nil {
		return err
	}
	return m.together(ctx, r, 2, func(i int) error {
		if i == 0 {
			return m.store(ctx, r, hash, content)
		}
		_, err := r.ExecContext(ctx, "UPDATE "+table+" SET attrs = ? WHERE id = ? AND moment = ?", strings.TrimSpace(b.String()), k.id, k.moment)
		return err
	})
}

// readAttrs returns the attributes of a row, or nil if the row has none.
func readAttrs(ctx context.Context, r Runner, table string, k row) (attrs map[string]json.RawMessage, err error) {
	rows, err := r.QueryContext(ctx, "SELECT attrs FROM "+table+" WHERE id = ? AND moment = ?", k.id, k.moment)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if text.Valid {
			if err := json.Unmarshal([]byte(text.String), &attrs); err != nil {
				return nil, fmt.Errorf("attributes of %s %d at moment %d: %w", table, k.id, k.moment, err)
			}
		}
	}
	return attrs, rows.Err()
}

// store stores a content, unless it is already stored. The id of the content is the
// first half of its hash.
func (m mover) store(ctx context.Context, r Runner, hash string, content []byte) error {
	ignore := map[string]string{"mysql": "INSERT IGNORE INTO ", "sqlite": "INSERT OR IGNORE INTO "}[m.dialect]
	done, err := r.ExecContext(ctx, ignore+"blob_content (id, hash, size, outside, kept, touched_at) VALUES (?, ?, ?, 0, 1, 0)",
		hash[:32], hash, len(content))
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err != nil || n == 0 {
		return errors.Join(err, keepContent(ctx, r, hash))
	}
	for i, part := range slices.Collect(slices.Chunk(content, contentPart)) {
		if _, err := r.ExecContext(ctx, "INSERT INTO blob_part (content, n, bytes) VALUES (?, ?, ?)", hash[:32], i, part); err != nil {
			return err
		}
	}
	return nil
}

func keepContent(ctx context.Context, r Runner, hash string) error {
	_, err := r.ExecContext(ctx, "UPDATE blob_content SET kept = 1 WHERE hash = ?", hash)
	return err
}
