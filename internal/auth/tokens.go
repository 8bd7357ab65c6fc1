package auth

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
)

// TokenOptions say what an access token is for and when it ends.
type TokenOptions struct {
	Name             string
	Expires          time.Time // zero: never
	EndsWithPassword bool      // it is revoked when the password of its member changes
}

// Token is what is known of an access token. The token itself is kept nowhere.
type Token struct {
	ID       string
	Member   int64  // stored id
	Username string // empty when the member has none any more
	Name     string
	// Created, Expires, LastUsed and Revoked are UTC; zero: never. LastUsed is
	// right to a minute or so.
	Created, Expires, LastUsed, Revoked time.Time
	EndsWithPassword                    bool
	MayLogin                            bool // the member is neither closed nor disabled
}

// CreateToken makes an access token for the member with that username, who
// acts through it. The token is returned here and can never be read again.
// Errors: fault.NotFound for an unknown username; fault.Invalid for a name that
// is empty, too long or not printable, and for an end that is over.
func (s *Service) CreateToken(ctx context.Context, username string, o TokenOptions) (string, error) {
	if err := checkTokenName(o.Name); err != nil {
		return "", err
	}
	now := s.now()
	if !o.Expires.IsZero() && !o.Expires.After(now) {
		return "", fault.Invalidf(fault.NoPlace, "a token cannot expire in the past: %s", o.Expires.UTC().Format(time.RFC3339))
	}
	member, err := s.memberNamed(ctx, username)
	if err != nil {
		return "", err
	}
	token := newToken()
	return token, insertToken(ctx, s.store, tokenRow{
		id: uuid.NewString(), member: member, name: o.Name, hash: hashToken(token),
		createdAt: now.UnixMicro(), expiresAt: micros(o.Expires), endsWithPassword: o.EndsWithPassword,
	})
}

func checkTokenName(name string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.TrimSpace(name) == "" || len([]rune(name)) > maxName || strings.ContainsFunc(name, unprintable) {
		return fault.Invalidf(fault.NoPlace, "a token needs a name of 1 to %d printable characters", maxName)
	}
	return nil
}

// Tokens lists the access tokens of the member with that username, of all
// members when it is empty, the oldest first; those that ended are among them.
// Errors: fault.NotFound for an unknown username.
func (s *Service) Tokens(ctx context.Context, username string) ([]Token, error) {
	var of any
	if username != "" {
		member, err := s.memberNamed(ctx, username)
		if err != nil {
			return nil, err
		}
		of = member
	}
	return db.Collect(ctx, s.db, `SELECT t.id, t.member_id, COALESCE(c.username, ''), t.name, t.created_at, t.expires_at, t.last_used_at, t.revoked_at,
       t.ends_with_password, CASE WHEN `+s.mayLogin+` THEN 1 ELSE 0 END
  FROM access_token t
  LEFT JOIN asset a ON a.id = t.member_id
  LEFT JOIN credential c ON c.member_id = t.member_id
 WHERE t.member_id = COALESCE(?, t.member_id)
 ORDER BY t.created_at, t.id`, []any{of}, scanToken)
}

func scanToken(row db.Scanner) (t Token, err error) {
	var created int64
	var expires, used, revoked sql.NullInt64
	err = row.Scan(&t.ID, &t.Member, &t.Username, &t.Name, &created, &expires, &used, &revoked, &t.EndsWithPassword, &t.MayLogin)
	t.Created, t.Expires, t.LastUsed, t.Revoked = time.UnixMicro(created).UTC(), instant(expires), instant(used), instant(revoked)
	return t, err
}

// RevokeToken ends an access token, by its id; every process refuses it within a
// second. It reports false for one that was revoked before.
// Errors: fault.NotFound for an id that no token has.
func (s *Service) RevokeToken(ctx context.Context, id string) (revoked bool, err error) {
	err = s.store.Write(ctx, func(tx *db.Tx) error {
		var at sql.NullInt64
		if err := tx.QueryRow(ctx, "SELECT revoked_at FROM access_token WHERE id = ?"+tx.Dialect().ForUpdate, id).Scan(&at); err != nil {
			if fault.KindOf(err) == fault.NotFound {
				return fault.NotFoundf("no token has the id %q", id)
			}
			return err
		}
		if revoked = !at.Valid; !revoked {
			return nil
		}
		_, err := tx.Exec(ctx, "UPDATE access_token SET revoked_at = "+tx.Dialect().NowMicros+" WHERE id = ?", id)
		return err
	})
	return revoked, err
}

// memberNamed finds the member with a username in any of its spellings.
func (s *Service) memberNamed(ctx context.Context, username string) (int64, error) {
	c, err := s.findCredential(ctx, folding.Of(username))
	if fault.KindOf(err) == fault.NotFound {
		return 0, fault.NotFoundf("no member has the username %q", username)
	}
	if err != nil {
		return 0, fmt.Errorf("find the member %q: %w", username, err)
	}
	return c.member, nil
}

// micros is an instant as the database keeps it, nil for none.
func micros(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	n := at.UnixMicro()
	return &n
}

func instant(at sql.NullInt64) time.Time {
	if !at.Valid {
		return time.Time{}
	}
	return time.UnixMicro(at.Int64).UTC()
}
