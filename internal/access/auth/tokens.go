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

// TokenOptions has the properties of a new access token.
type TokenOptions struct {
	Name             string
	Expires          time.Time   // zero: never
	Bounds           *BoundsView // nil: none
	EndsWithPassword bool        // true: the token is revoked when the password of its member changes

	session bool // true: the token is a session
}

// Token describes an access token. The token itself is not stored.
type Token struct {
	ID       string
	Member   int64  // stored id
	Username string // empty: the member no longer has a username
	Name     string
	// Created, Expires, LastUsed and Revoked are UTC; zero: never. LastUsed is precise to
	// about a minute.
	Created, Expires, LastUsed, Revoked time.Time
	EndsWithPassword                    bool
	Bounds                              *BoundsView // nil: none
	Session                             bool        // true: the token is a session
	MayLogin                            bool        // true: the member is neither closed nor disabled
}

// CreateToken creates an access token for the member with a username. It returns the token, which
// can never be read again.
// Errors: fault.NotFound for an unknown username; fault.Invalid for a name that is empty, too
// long or not printable, for an expiry in the past, and for bounds that name what does not exist.
func (s *Service) CreateToken(ctx context.Context, username string, o TokenOptions) (string, error) {
	now := s.now()
	if err := o.check(now); err != nil {
		return "", err
	}
	c, err := s.memberNamed(ctx, username)
	if err != nil {
		return "", err
	}
	who, err := s.ActorOf(ctx, c.member)
	if err != nil {
		return "", err
	}
	bounds, err := s.boundsOf(ctx, who, o.Bounds)
	if err != nil {
		return "", err
	}
	token, row := o.row(c.member, now, bounds)
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

// row returns a new token and its row for the database.
func (o TokenOptions) row(member int64, now time.Time, b *Bounds) (token string, row tokenRow) {
	token = newToken()
	return token, tokenRow{
		ID: uuid.NewString(), MemberID: member, Name: o.Name, TokenHash: hashToken(token),
		CreatedAt: now.UnixMicro(), ExpiresAt: micros(o.Expires), EndsWithPassword: o.EndsWithPassword, IsSession: o.session,
		Bounds: b,
	}
}

// insert stores a new token and records a TokenCreated event.
func insert(ctx context.Context, tx *db.Tx, row tokenRow) error {
	if err := tx.Gorm().Create(&row).Error; err != nil {
		return err
	}
	return trail.Record(ctx, tx, row.event(trail.TokenCreated))
}

// Tokens returns the access tokens of the member with a username, oldest first. If the username
// is empty, it returns the tokens of all members. Expired and revoked tokens are included.
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
		all[i].Bounds = s.viewOf(rows[i].Bounds)
	}
	return all, nil
}

// RevokeToken revokes an access token by its id. All processes refuse the token within a second.
// revoked is false if the token was revoked before.
// Errors: fault.NotFound.
func (s *Service) RevokeToken(ctx context.Context, id string) (revoked bool, err error) {
	row, err := s.revokeOne(ctx, id, func(tokenRow) bool { return true })
	return err == nil && row.RevokedAt == nil, err
}

// revokeOne revokes the token with an id, if the function may returns true for the token. It returns
// the row of the token before the change.
// Errors: fault.NotFound if no token has the id, or if the caller may not revoke it.
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

// memberNamed returns the credential of a username in any spelling; see folding.Of.
// Errors: fault.NotFound.
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
