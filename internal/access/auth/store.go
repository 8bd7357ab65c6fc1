package auth

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// credential is the credential of a username; zero for an unknown username.
type credential struct {
	member  int64
	hash    string // PHC; empty: the member has no password
	version int64  // increases with every change of username or password
	usable  bool   // the member is neither closed nor disabled
}

// findCredential returns the credential of a folded username. It uses SQL in place of gorm for
// speed, because every login waits for it. Errors: fault.NotFound.
func (s *Service) findCredential(ctx context.Context, folded string) (credential, error) {
	var c credential
	var hash sql.NullString
	err := s.db.QueryRow(ctx, `SELECT c.member_id, c.password_hash, c.version, CASE WHEN `+s.mayLogin+` THEN 1 ELSE 0 END
  FROM credential c JOIN asset a ON a.id = c.member_id
 WHERE c.folded = ?`, folded).Scan(&c.member, &hash, &c.version, &c.usable)
	c.hash = hash.String
	return c, err
}

// mayLogin returns the SQL condition that a member may log in: it is neither closed nor disabled.
// The member is a row a of asset. Its row c of credential may be missing.
func mayLogin(d *db.Dialect, disabledKey string) string {
	return fmt.Sprintf("a.state < %d AND COALESCE(c.disabled, 0) = 0 AND COALESCE(%s, 0) = 0",
		meta.StateClosed, d.JSONBool("a.attrs", disabledKey))
}

// findTokens returns tokens by their hashes, including expired tokens. Revoked tokens, and tokens
// of members that may not log in, are not in the result. It uses SQL, as findCredential does.
func (s *Service) findTokens(ctx context.Context, hashes []string) (map[string]cachedToken, error) {
	found := make(map[string]cachedToken, len(hashes))
	for in, args := range db.InChunks(hashes) {
		err := db.Each(ctx, s.db, `SELECT t.token_hash, t.id, t.name, t.member_id, t.expires_at, t.last_used_at,
       COALESCE(t.last_address, ''), t.is_session, t.bounds
  FROM access_token t
  JOIN asset a ON a.id = t.member_id
  LEFT JOIN credential c ON c.member_id = t.member_id
 WHERE t.token_hash IN `+in+` AND t.revoked_at IS NULL AND `+s.mayLogin, args, func(row db.Scanner) error {
			var hash string
			var t cachedToken
			var expires, used *int64
			var bounds []byte
			if err := row.Scan(&hash, &t.id, &t.name, &t.member, &expires, &used, &t.lastAddress, &t.session, &bounds); err != nil {
				return err
			}
			t.expires, t.lastUsed = instant(expires), instant(used)
			if bounds != nil {
				if err := json.Unmarshal(bounds, &t.bounds); err != nil {
					return fmt.Errorf("the bounds of token %s: %w", t.id, err)
				}
			}
			found[hash] = t
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// endTokens revokes the tokens of a member that end with the password.
func endTokens(ctx context.Context, tx *db.Tx, member int64) error {
	return revoke(ctx, tx, "member_id = ? AND ends_with_password = 1", member)
}

// MayLogin reports whether a member could log in now. The member must be neither closed nor
// disabled, and must have a password or a valid token. member is a stored id.
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

// storeCredential stores the username and the password hash of a member; nil: no change. The
// member can get the username of a deleted member. A new password revokes the tokens that end
// with the password.
// Errors: fault.Conflict if another member has the username.
func storeCredential(ctx context.Context, tx *db.Tx, member int64, username, hash *string) error {
	err := putCredential(tx, member, username, hash)
	if username != nil && fault.KindOf(err) == fault.Conflict {
		err = putFreed(ctx, tx, member, *username, hash, err)
	}
	if err != nil || hash == nil {
		return err
	}
	return endTokens(ctx, tx, member) // the credential is locked, so no new token can be created meanwhile
}

// putFreed calls putCredential again after conflict, if it can free the username of a deleted
// member. Errors: fault.Conflict if another member has the username.
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
		row.Version = time.Now().UnixMicro() // no earlier, deleted credential of the member had this version
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

// freeUsername deletes the credential with a username if its member is deleted. Another member
// can then have the username. It returns false if the member is not deleted.
func freeUsername(ctx context.Context, tx *db.Tx, username string) (bool, error) {
	var holder struct {
		MemberID int64
		State    int
	}
	err := tx.Gorm().Table("credential c").Joins("JOIN asset a ON a.id = c.member_id").Clauses(forUpdate).
		Where("c.folded = ?", folding.Of(username)).Select("c.member_id, a.state").Take(&holder).Error
	if fault.KindOf(err) == fault.NotFound {
		return true, nil // the credential was deleted meanwhile
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
	return endTokens(ctx, tx, member) // the credential is locked, as in storeCredential
}

// readRights returns the rights of members at a moment. Members that did not exist then are not
// in the result. One statement reads all rights of a member, so that they are consistent and
// need only one round trip.
func (s *Service) readRights(ctx context.Context, members []int64, moment int64) (map[int64]rights, error) {
	found := make(map[int64]rights, len(members))
	for in, ids := range db.InChunks(members) {
		args := slices.Concat([]any{s.roles.relation, moment, moment}, ids,
			[]any{s.roles.member.Code, moment, moment, moment, moment}, ids, []any{moment, moment})
		err := db.Each(ctx, s.db, `SELECT v.id, v.state,
       (SELECT MAX(l.to_id) FROM asset_link l
         WHERE l.relation = ? AND l.from_type = v.type AND l.from_id = v.id
           AND l.since_moment <= ? AND l.until_moment > ?), NULL, NULL, NULL, NULL
  FROM asset_version v WHERE v.id IN `+in+` AND v.type = ? AND v.moment <= ? AND v.until_moment > ?
UNION ALL
SELECT m.member_id, NULL, NULL, c.descendant_id, c.depth, m.scope_id, m.role_id
  FROM scope_member m
  JOIN scope_closure c ON c.ancestor_id = m.scope_id AND c.since_moment <= ? AND c.until_moment > ?
 WHERE m.member_id IN `+in+` AND m.since_moment <= ? AND m.until_moment > ?`, args, func(row db.Scanner) error {
			return addRights(found, row)
		})
		if err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(found, func(_ int64, r rights) bool { return !r.exists })
	return found, nil
}

// addRights adds a row of readRights to found. A row with a state is a member. Any other row is a
// grant.
func addRights(found map[int64]rights, row db.Scanner) error {
	var member int64
	var state, role, scope, depth, held, granted sql.NullInt64
	if err := row.Scan(&member, &state, &role, &scope, &depth, &held, &granted); err != nil {
		return err
	}
	r := found[member]
	if state.Valid {
		r.exists, r.defaultRole, r.hasDefault = state.Int64 != int64(meta.StateDeleted), role.Int64, role.Valid
	} else {
		g := grant{scope: scope.Int64, depth: int(depth.Int64), held: held.Int64, role: granted.Int64}
		r.grants = append(r.grants, g)
	}
	found[member] = r
	return nil
}

// rightsChanged reports whether the rights of a member may have changed after the moment from,
// up to the moment to. It looks for a new version of the member, which may have a new default
// role. It also looks for any member that got or lost a role in a project, and for a project
// that was moved.
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

// findFirstLogin returns the username of a member who has a username and no password. It is empty
// for all other members and for a deleted member. Errors: fault.NotFound.
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

// readHash returns the stored password hash of a member; empty: no password.
// Errors: fault.NotFound.
func readHash(g *gorm.DB, member int64) (string, error) {
	var row credentialRow
	err := g.Select("password_hash").Take(&row, member).Error
	return row.hash(), err
}
