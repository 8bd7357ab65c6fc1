package auth

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
	"github.com/alds-dev/alds/internal/meta"
)

// credential is the credential of a username; the zero value of an unknown one.
type credential struct {
	member  int64
	hash    string // PHC; empty when the member has no password
	version int64  // grows with every change of username or password
	usable  bool   // neither disabled nor of a closed member
}

// findCredential finds the folded form of a username. Every login may wait for
// it, so it is SQL by hand (decision 195). Errors: fault.NotFound.
func (s *Service) findCredential(ctx context.Context, folded string) (credential, error) {
	var c credential
	var hash sql.NullString
	err := s.db.QueryRow(ctx, `SELECT c.member_id, c.password_hash, c.version, CASE WHEN `+s.mayLogin+` THEN 1 ELSE 0 END
  FROM credential c JOIN asset a ON a.id = c.member_id
 WHERE c.folded = ?`, folded).Scan(&c.member, &hash, &c.version, &c.usable)
	c.hash = hash.String
	return c, err
}

// mayLogin is the condition on member a and credential c (which may be missing)
// under which the member logs in: neither closed nor disabled.
func mayLogin(d *db.Dialect, disabledKey string) string {
	return fmt.Sprintf("a.state < %d AND COALESCE(c.disabled, 0) = 0 AND COALESCE(%s, 0) = 0",
		meta.StateClosed, d.JSONBool("a.attrs", disabledKey))
}

// findToken reads a token, an expired one too, by SQL as findCredential does.
// Errors: fault.NotFound for one that is unknown or revoked, or whose member may
// not log in.
func (s *Service) findToken(ctx context.Context, hash string) (cachedToken, error) {
	var t cachedToken
	var expires, used *int64
	err := s.db.QueryRow(ctx, `SELECT t.id, t.member_id, t.expires_at, t.last_used_at, COALESCE(t.last_address, ''), t.is_session
  FROM access_token t
  JOIN asset a ON a.id = t.member_id
  LEFT JOIN credential c ON c.member_id = t.member_id
 WHERE t.token_hash = ? AND t.revoked_at IS NULL AND `+s.mayLogin, hash).Scan(&t.id, &t.member, &expires, &used, &t.lastAddress, &t.session)
	t.expires, t.lastUsed = instant(expires), instant(used)
	return t, err
}

// endTokens revokes the tokens of a member that end with the password.
func endTokens(ctx context.Context, tx *db.Tx, member int64) error {
	return revoke(ctx, tx, "member_id = ? AND ends_with_password = 1", member)
}

// MayLogin reports whether a member, by stored id, could log in now: neither closed
// nor disabled, and with a password or a valid token.
func (s *Service) MayLogin(ctx context.Context, member int64) (bool, error) {
	var may bool
	err := s.db.QueryRow(ctx, `SELECT CASE WHEN `+s.mayLogin+` AND (c.password_hash IS NOT NULL OR EXISTS
       (SELECT 1 FROM access_token t WHERE t.member_id = a.id AND t.revoked_at IS NULL AND COALESCE(t.expires_at, ?) > ?))
       THEN 1 ELSE 0 END
  FROM asset a LEFT JOIN credential c ON c.member_id = a.id
 WHERE a.id = ?`, int64(math.MaxInt64), s.now().UnixMicro(), member).Scan(&may)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return may, err
}

// storeCredential writes the given parts of a member's credential. The username of
// a deleted member is free. A new password revokes the tokens that end with it.
// Errors: fault.Conflict when another member has the username.
func storeCredential(ctx context.Context, tx *db.Tx, member int64, username, hash *string) error {
	err := putCredential(tx, member, username, hash)
	if username != nil && fault.KindOf(err) == fault.Conflict {
		err = putFreed(ctx, tx, member, *username, hash, err)
	}
	if err != nil || hash == nil {
		return err
	}
	return endTokens(ctx, tx, member) // behind the lock of the credential, which new tokens wait for
}

// putFreed is putCredential after conflict, for a username that a deleted member has.
// Errors: fault.Conflict when another member has it.
func putFreed(ctx context.Context, tx *db.Tx, member int64, username string, hash *string, conflict error) error {
	freed, err := freeUsername(ctx, tx, username)
	if err != nil {
		return err
	}
	if freed {
		conflict = putCredential(tx, member, &username, hash)
	}
	if fault.KindOf(conflict) == fault.Conflict {
		return fault.Conflictf(conflict, "Violation'NotUnique'Member.Username")
	}
	return conflict
}

func putCredential(tx *db.Tx, member int64, username, hash *string) error {
	var row credentialRow
	err := tx.Gorm().Clauses(forUpdate).Take(&row, member).Error
	isNew := fault.KindOf(err) == fault.NotFound
	if isNew && username == nil {
		return fault.Invalidf(fault.NoPlace, "Violation'Required'Member.Username")
	}
	if err != nil && !isNew {
		return err
	}
	row.MemberID = member
	if row.Version++; isNew {
		row.Version = time.Now().UnixMicro() // never one that a deleted credential of the member had
	}
	if username != nil {
		row.Username, row.Folded = *username, folding.Of(*username)
	}
	if hash != nil {
		row.PasswordHash = hash
	}
	if isNew {
		return tx.Gorm().Create(&row).Error
	}
	return tx.Gorm().Select("*").Updates(&row).Error
}

// freeUsername deletes the credential of a deleted member, so that another one
// can have the username. It reports false when its member is not deleted.
func freeUsername(ctx context.Context, tx *db.Tx, username string) (bool, error) {
	var holder struct {
		MemberID int64
		State    int
	}
	err := tx.Gorm().Table("credential c").Joins("JOIN asset a ON a.id = c.member_id").Clauses(forUpdate).Where("c.folded = ?", folding.Of(username)).
		Select("c.member_id, a.state").Take(&holder).Error
	if fault.KindOf(err) == fault.NotFound {
		return true, nil // deleted meanwhile
	}
	if err != nil || holder.State != meta.StateDeleted {
		return false, err
	}
	return true, dropCredential(ctx, tx, holder.MemberID)
}

func dropCredential(ctx context.Context, tx *db.Tx, member int64) error {
	if err := tx.Gorm().Delete(&credentialRow{MemberID: member}).Error; err != nil {
		return err
	}
	return endTokens(ctx, tx, member) // behind the lock, as in storeCredential
}

// readRights reads the rights of a member at a moment. Errors: fault.NotFound when
// there was no such member.
func (s *Service) readRights(ctx context.Context, q db.Querier, member, moment int64) (rights, error) {
	var state int
	var role sql.NullInt64
	err := q.QueryRow(ctx, `SELECT v.state,
       (SELECT MAX(l.to_id) FROM asset_link l
         WHERE l.relation = ? AND l.from_type = v.type AND l.from_id = v.id
           AND l.since_moment <= ? AND l.until_moment > ?)
  FROM asset_version v WHERE v.id = ? AND v.type = ? AND v.moment <= ? AND v.until_moment > ?`,
		s.roles.relation, moment, moment, member, s.roles.member.Code, moment, moment).Scan(&state, &role)
	if err != nil {
		return rights{}, err
	}
	r := rights{deleted: state == meta.StateDeleted, defaultRole: role.Int64, hasDefault: role.Valid}
	r.grants, err = db.Collect(ctx, q, `SELECT c.descendant_id, c.depth, m.scope_id, m.role_id
  FROM scope_member m
  JOIN scope_closure c ON c.ancestor_id = m.scope_id AND c.since_moment <= ? AND c.until_moment > ?
 WHERE m.member_id = ? AND m.since_moment <= ? AND m.until_moment > ?`,
		[]any{moment, moment, member, moment, moment}, func(row db.Scanner) (g grant, err error) {
			err = row.Scan(&g.scope, &g.depth, &g.held, &g.role)
			return g, err
		})
	return r, err
}

// rightsChanged reports whether what a member sees may have changed after one moment
// and up to another: by a new default role, which makes a version of the member, or by
// a role that anybody was given or lost, or a project that was moved.
func rightsChanged(ctx context.Context, q db.Querier, member, from, to int64) (bool, error) {
	const during = " WHERE since_moment > ? AND since_moment <= ? OR until_moment > ? AND until_moment <= ?)"
	var changes int
	err := q.QueryRow(ctx, `SELECT
  (SELECT COUNT(*) FROM asset_version WHERE id = ? AND moment > ? AND moment <= ?) +
  (SELECT COUNT(*) FROM scope_member`+during+` +
  (SELECT COUNT(*) FROM scope_closure`+during,
		member, from, to, from, to, from, to, from, to, from, to).Scan(&changes)
	return changes > 0, err
}

// findFirstLogin returns the username of a member who has one and no password; empty
// for everybody else and for a deleted one. Errors: fault.NotFound.
func (s *Service) findFirstLogin(ctx context.Context, member int64) (string, error) {
	var name, hash sql.NullString
	var state int
	err := s.store.QueryRow(ctx, `SELECT a.state, `+s.store.Dialect.JSONText("a.attrs", s.roles.usernameKey)+`, c.password_hash
  FROM asset a LEFT JOIN credential c ON c.member_id = a.id
 WHERE a.id = ?`, member).Scan(&state, &name, &hash)
	if state == meta.StateDeleted || hash.String != "" {
		return "", err
	}
	return name.String, err
}

// readHash returns the stored password hash of a member, empty for none.
// Errors: fault.NotFound.
func readHash(g *gorm.DB, member int64) (string, error) {
	var row credentialRow
	err := g.Select("password_hash").Take(&row, member).Error
	return row.hash(), err
}
