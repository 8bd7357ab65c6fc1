package auth

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of the tokens that members create for themselves.
const (
	sessionLasts = 7 * 24 * time.Hour
	maxTokens    = 100 // valid tokens per member, without sessions
	maxSessions  = 20  // valid sessions per member; a further session revokes the oldest
	maxEnded     = 100 // ended tokens per member that are not deleted; the same for sessions
)

// current can be used instead of an id. It means the token of the request.
const current = "current"

// MakeToken creates an access token or a session for the member of a login. The answer contains
// the token, which can never be read again. If yaml is true, the body is YAML.
// Shape: {"name": "…", "expires": "2027-01-31", "endsWithPassword": true, "session": false, "bounds": {…}}
// Errors: fault.Invalid for an invalid body, and for too many tokens; fault.Denied if the login
// may not create the token; fault.Unproven if the login is no longer valid.
// Spec: interface 5.9.
func (s *Service) MakeToken(ctx context.Context, l Login, who Actor, body []byte, yaml bool) (TokenView, error) {
	now := s.now()
	o, err := parseToken(body, yaml, now)
	if err != nil {
		return TokenView{}, err
	}
	switch {
	case o.session && !l.byPassword():
		return TokenView{}, fault.Deniedf("A session needs the password")
	case !l.byPassword() && !l.session:
		return TokenView{}, fault.Deniedf("An access token cannot make another")
	case o.session:
		o.Expires = now.Add(sessionLasts)
	}
	if err := o.check(now); err != nil {
		return TokenView{}, err
	}
	bounds, err := s.boundsOf(ctx, who, o.Bounds)
	if err != nil {
		return TokenView{}, err
	}
	token, row := o.row(l.Member, now, bounds)
	revoked := false
	err = s.store.Write(ctx, func(tx *db.Tx) (err error) {
		if revoked, err = s.makeRoom(ctx, tx, l, o.session); err != nil {
			return err
		}
		return insert(ctx, tx, row)
	})
	if err != nil {
		return TokenView{}, err
	}
	if revoked {
		s.LoginsChanged()
	}
	v := s.view(&row, l)
	v.Token = token
	return v, nil
}

// makeRoom locks the tokens of the member of a login, and makes room for one more token or
// session. revoked is true if it has revoked the oldest session.
// Errors: fault.Unproven if the login is no longer valid; fault.Invalid for too many tokens.
func (s *Service) makeRoom(ctx context.Context, tx *db.Tx, l Login, session bool) (revoked bool, err error) {
	rows, err := lockLogin(tx, l, s.now())
	if err != nil {
		return false, err
	}
	var valid, ended []string // ids, newest first
	for i := range rows {
		switch r := &rows[i]; {
		case r.IsSession != session:
		case r.isValid(s.now()):
			valid = append(valid, r.ID)
		default:
			ended = append(ended, r.ID)
		}
	}
	if len(ended) > maxEnded { // the audit trail still has their events
		old := ended[maxEnded:min(len(ended), maxEnded+db.MaxIn)]
		if err := tx.Gorm().Where("id IN ?", old).Delete(&tokenRow{}).Error; err != nil {
			return false, err
		}
	}
	switch {
	case session && len(valid) >= maxSessions:
		return true, revoke(ctx, tx, "id IN ?", valid[maxSessions-1:])
	case !session && len(valid) >= maxTokens:
		return false, fault.Invalidf(fault.NoPlace, "A member has at most %d access tokens: revoke one first", maxTokens)
	}
	return false, nil
}

// lockLogin locks the credential and the tokens of the member of a login, and returns the tokens,
// newest first. Requests that create tokens or set the password wait for each other. A login with
// the previous password is refused: it could create a token that stays valid after the change of
// the password.
// Errors: fault.Unproven if the login is no longer valid.
func lockLogin(tx *db.Tx, l Login, now time.Time) (rows []tokenRow, err error) {
	var c credentialRow
	err = tx.Gorm().Clauses(forUpdate).Take(&c, l.Member).Error
	if fault.KindOf(err) == fault.NotFound || err == nil && l.byPassword() && c.Version != l.version {
		return nil, errPasswordOver()
	}
	if err != nil {
		return nil, err
	}
	err = tx.Gorm().Clauses(forUpdate).Where("member_id = ?", l.Member).Order("created_at DESC, id DESC").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].ID == l.tokenID && rows[i].isValid(now) {
			return rows, nil
		}
	}
	if !l.byPassword() {
		return nil, errTokenOver()
	}
	return rows, nil
}

// ListTokens returns the valid tokens and sessions of a member, newest first. member is the Oid
// of the member; empty: the member of the login. Only a system administrator may list the tokens
// of another member. A token with bounds lists only itself.
// Errors: fault.Denied; fault.Invalid if member is not the Oid of a member; fault.NotFound.
// Spec: interface 5.9.
func (s *Service) ListTokens(ctx context.Context, l Login, who Actor, member string) (TokenList, error) {
	id := l.Member
	if member != "" {
		var err error
		if id, err = s.memberOf(ctx, who, member); err != nil {
			return TokenList{}, err
		}
	}
	var rows []tokenRow
	found := s.db.Gorm(ctx).Scopes(notRevoked)
	if l.bounds != nil {
		found = found.Where("id = ?", l.tokenID)
	}
	err := found.
		Where("member_id = ? AND COALESCE(expires_at, ?) > ?", id, db.Forever, s.now().UnixMicro()).
		Order("created_at DESC, id DESC").Find(&rows).Error
	list := TokenList{Tokens: make([]TokenView, len(rows))}
	for i := range rows {
		list.Tokens[i] = s.view(&rows[i], l)
	}
	return list, err
}

// memberOf returns the stored id of a member whose tokens the caller may list. token is the Oid
// of the member. Errors: as ListTokens.
func (s *Service) memberOf(ctx context.Context, who Actor, token string) (int64, error) {
	o, err := oid.Parse(token)
	ofMember := err == nil && o.Type == s.roles.member.Name && o.Moment == 0
	id := s.roles.member.Stored(o.ID)
	switch {
	case ofMember && id == who.Member:
		return id, nil
	case !who.Admin:
		return 0, fault.Deniedf("The tokens of other members are for system administrators")
	case !ofMember:
		return 0, fault.Invalidf(fault.NoPlace, "Invalid member: %s (wanted: the Oid of a Member)", token)
	}
	err = s.db.QueryRow(ctx, `SELECT id FROM asset WHERE id = ? AND type = ? AND state < ?`,
		id, s.roles.member.Code, meta.StateDeleted).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		err = errNotFound()
	}
	return id, err
}

// EndToken revokes a token of the member of a login. A system administrator may revoke the
// tokens of all members. A token with bounds may revoke only itself. id is the id of the token, or "current". If the token was revoked
// before, the answer is the same.
// Errors: fault.NotFound; fault.Invalid for "current" if the login is by password.
// Spec: interface 5.9.
func (s *Service) EndToken(ctx context.Context, l Login, who Actor, id string) (TokenView, error) {
	if id = strings.ToLower(id); id == current {
		if id = l.tokenID; id == "" {
			return TokenView{}, fault.Invalidf(fault.NoPlace, "The request was made with a password, not with a token")
		}
	}
	if uuid.Validate(id) != nil {
		return TokenView{}, errNotFound()
	}
	row, err := s.revokeOne(ctx, id, func(r tokenRow) bool {
		return (r.MemberID == l.Member || who.Admin) && (l.bounds == nil || r.ID == l.tokenID)
	})
	if fault.KindOf(err) == fault.NotFound {
		return TokenView{}, errNotFound()
	}
	return s.view(&row, l), err
}

func errNotFound() error { return fault.NotFoundf("Not Found") }
