package auth

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/db"
)

// TokenOptions say what an access token is for and when it ends.
type TokenOptions struct {
	Name             string
	Expires          time.Time // zero: never
	EndsWithPassword bool      // it is revoked when the password of its member changes

	session bool // a member signs in with it
}

// Token describes an access token. The token itself is not stored.
type Token struct {
	ID       string
	Member   int64  // stored id
	Username string // empty when the member has none any more
	Name     string
	// Created, Expires, LastUsed and Revoked are UTC; zero: never. LastUsed is
	// right to a minute or so.
	Created, Expires, LastUsed, Revoked time.Time
	EndsWithPassword                    bool
	Session                             bool // a member has signed in with it
	MayLogin                            bool // the member is neither closed nor disabled
}

// CreateToken creates an access token for the member with that username. The token
// is returned here and can never be read again.
// Errors: fault.NotFound for an unknown username; fault.Invalid for a name that
// is empty, too long or not printable, and for an expiry in the past.
func (s *Service) CreateToken(ctx context.Context, username string, o TokenOptions) (string, error) {
	now := s.now()
	if err := o.check(now); err != nil {
		return "", err
	}
	c, err := s.memberNamed(ctx, username)
	if err != nil {
		return "", err
	}
	token, row := o.row(c.member, now)
	return token, s.store.Write(ctx, func(tx *db.Tx) error { return insert(ctx, tx, row) })
}

// check checks the options of a new token. Errors: fault.Invalid.
func (o TokenOptions) check(now time.Time) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.TrimSpace(o.Name) == "" || len([]rune(o.Name)) > maxName || strings.ContainsFunc(o.Name, unprintable) {
		return fault.Invalidf(fault.NoPlace, "a token needs a name of 1 to %d printable characters", maxName)
	}
	if !o.Expires.IsZero() && !o.Expires.After(now) {
		return fault.Invalidf(fault.NoPlace, "a token cannot expire in the past: %s", o.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// row makes a token, and the row that it is known by.
func (o TokenOptions) row(member int64, now time.Time) (token string, row tokenRow) {
	token = newToken()
	return token, tokenRow{
		ID: uuid.NewString(), MemberID: member, Name: o.Name, TokenHash: hashToken(token),
		CreatedAt: now.UnixMicro(), ExpiresAt: micros(o.Expires), EndsWithPassword: o.EndsWithPassword, IsSession: o.session,
	}
}

// insert stores a new token and records a TokenCreated event.
func insert(ctx context.Context, tx *db.Tx, row tokenRow) error {
	if err := tx.Gorm().Create(&row).Error; err != nil {
		return err
	}
	return trail.Record(ctx, tx, row.event(trail.TokenCreated))
}

// Tokens lists the access tokens of the member with that username, of all
// members when it is empty, oldest first, including expired and revoked ones.
// Errors: fault.NotFound for an unknown username.
func (s *Service) Tokens(ctx context.Context, username string) ([]Token, error) {
	list := s.db.Gorm(ctx).Scopes(tokensOfMembers)
	if username != "" {
		c, err := s.memberNamed(ctx, username)
		if err != nil {
			return nil, err
		}
		list = list.Where("t.member_id = ?", c.member)
	}
	var rows []tokenRow
	err := list.Select("t.*, c.username, " + s.mayLogin + " AS may_login").Order("t.created_at, t.id").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	all := make([]Token, len(rows))
	for i := range rows {
		all[i] = rows[i].token()
	}
	return all, nil
}

// RevokeToken revokes an access token by its id; every process refuses it within a
// second. It reports false for one that was revoked before.
// Errors: fault.NotFound.
func (s *Service) RevokeToken(ctx context.Context, id string) (revoked bool, err error) {
	row, err := s.revokeOne(ctx, id, func(tokenRow) bool { return true })
	return err == nil && row.RevokedAt == nil, err
}

// revokeOne revokes a token by its id, if it is one that the caller may revoke, and
// returns it as it was before. Errors: fault.NotFound.
func (s *Service) revokeOne(ctx context.Context, id string, may func(tokenRow) bool) (row tokenRow, err error) {
	err = s.store.Write(ctx, func(tx *db.Tx) error {
		row = tokenRow{}
		err := tx.Gorm().Clauses(forUpdate).Take(&row, "id = ?", id).Error
		if fault.KindOf(err) == fault.NotFound || err == nil && !may(row) {
			return fault.NotFoundf("no token has the id %q", id)
		}
		if err != nil || row.RevokedAt != nil {
			return err
		}
		return revoke(ctx, tx, "id = ?", id)
	})
	if err == nil && row.RevokedAt == nil {
		s.LoginsChanged()
	}
	return row, err
}

// memberNamed finds the credential of a username in any of its spellings.
func (s *Service) memberNamed(ctx context.Context, username string) (credential, error) {
	c, err := s.findCredential(ctx, folding.Of(username))
	if fault.KindOf(err) == fault.NotFound {
		return credential{}, fault.NotFoundf("no member has the username %q", username)
	}
	if err != nil {
		return credential{}, fmt.Errorf("find the member %q: %w", username, err)
	}
	return c, nil
}
