package auth

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
)

// credentialRow is a row of credential.
type credentialRow struct {
	MemberID     int64 `gorm:"primaryKey;autoIncrement:false"`
	Username     string
	Folded       string  // the username folded, unique
	PasswordHash *string // PHC; nil: the member has no password
	Version      int64   // increases with every change of username or password
	Disabled     bool
}

func (r credentialRow) hash() string {
	if r.PasswordHash == nil {
		return ""
	}
	return *r.PasswordHash
}

// TableName names the table for gorm.
func (credentialRow) TableName() string { return "credential" }

// tokenRow is a row of access_token. Times are UTC microseconds; nil: never.
type tokenRow struct {
	ID                               string `gorm:"primaryKey"`
	MemberID                         int64
	Name, TokenHash                  string
	CreatedAt                        int64 `gorm:"autoCreateTime:false"`
	ExpiresAt, LastUsedAt, RevokedAt *int64
	LastAddress                      *string // network of the last use
	Bounds                           *Bounds `gorm:"serializer:json"` // nil: none
	EndsWithPassword, IsSession      bool

	Username *string `gorm:"->"` // from credential
	MayLogin bool    `gorm:"->"` // see mayLogin
}

// TableName names the table for gorm.
func (tokenRow) TableName() string { return "access_token" }

func (r *tokenRow) token() Token {
	t := Token{
		ID: r.ID, Member: r.MemberID, Name: r.Name, Created: time.UnixMicro(r.CreatedAt).UTC(),
		Expires: instant(r.ExpiresAt), LastUsed: instant(r.LastUsedAt), Revoked: instant(r.RevokedAt),
		EndsWithPassword: r.EndsWithPassword, Session: r.IsSession, MayLogin: r.MayLogin,
	}
	if r.Username != nil {
		t.Username = *r.Username
	}
	return t
}

// isValid reports whether the token is neither revoked nor expired.
func (r *tokenRow) isValid(now time.Time) bool {
	return r.RevokedAt == nil && (r.ExpiresAt == nil || *r.ExpiresAt > now.UnixMicro())
}

// micros returns a time in UTC microseconds; nil for the zero time.
func micros(at time.Time) *int64 {
	if at.IsZero() {
		return nil
	}
	n := at.UnixMicro()
	return &n
}

func instant(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}

// forUpdate locks the rows that a transaction reads.
var forUpdate = clause.Locking{Strength: "UPDATE"}

// notRevoked limits tokens to those that are not revoked.
func notRevoked(g *gorm.DB) *gorm.DB { return g.Where("revoked_at IS NULL") }

// tokensOfMembers selects tokens, with the alias t. It joins their members, with the alias a, and
// the credentials of these members, with the alias c. The member and the credential may be missing.
func tokensOfMembers(g *gorm.DB) *gorm.DB {
	return g.Table("access_token t").
		Joins("LEFT JOIN asset a ON a.id = t.member_id").
		Joins("LEFT JOIN credential c ON c.member_id = t.member_id")
}

// revoke revokes the tokens that match a condition, and records an event for each token.
// Errors: those of the database.
func revoke(ctx context.Context, tx *db.Tx, condition string, args ...any) error {
	var rows []tokenRow
	err := tx.Gorm().Clauses(forUpdate).Scopes(notRevoked).Where(condition, args...).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	err = tx.Gorm().Model(&tokenRow{}).Scopes(notRevoked).Where(condition, args...).
		Update("revoked_at", gorm.Expr(tx.Dialect().NowMicros)).Error
	if err != nil {
		return err
	}
	events := make([]trail.Event, len(rows))
	for i := range rows {
		events[i] = rows[i].event(trail.TokenRevoked)
	}
	return trail.Record(ctx, tx, events...)
}

// event returns the audit event of kind k for a token.
func (r *tokenRow) event(k trail.Kind) trail.Event {
	return trail.Event{Kind: k, Member: r.MemberID, Detail: trail.Detail{Token: r.ID, TokenName: r.Name}}
}
