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

// Bounds of the tokens that members make for themselves.
const (
	sessionLasts = 7 * 24 * time.Hour
	maxTokens    = 100 // valid ones of a member
	maxSessions  = 20  // likewise; one more ends the oldest
	maxEnded     = 100 // ended tokens of a member that are kept, and as many sessions
)

// current stands for the id of the token of a request.
const current = "current"

// MakeToken makes a token, or a session, for the member of a login. The token itself is
// in the answer and can never be read again.
// Shape: {"name": "…", "expires": "2027-01-31", "endsWithPassword": true, "session": false};
// yaml says that the body is YAML.
// Errors: fault.Invalid for a body that is none, and for too many tokens; fault.Denied for
// a login that may not make it; fault.Unproven for one that counts no longer.
// Spec: interface 5.9.
func (s *Service) MakeToken(ctx context.Context, l Login, body []byte, yaml bool) (TokenView, error) {
	o, err := parseToken(body, yaml)
	if err != nil {
		return TokenView{}, err
	}
	now := s.now()
	switch {
	case o.session && !l.ByPassword():
		return TokenView{}, fault.Deniedf("A session needs the password")
	case !l.ByPassword() && !l.session:
		return TokenView{}, fault.Deniedf("An access token cannot make another")
	case o.session:
		o.Expires = now.Add(sessionLasts)
	}
	if err := o.check(now); err != nil {
		return TokenView{}, err
	}
	token, row := o.row(l.Member, now)
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

// makeRoom makes room for one more token of the member of a login, which it locks. It
// reports whether it has revoked one for it.
// Errors: fault.Unproven, fault.Invalid for too many.
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
	if len(ended) > maxEnded { // the audit has them
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

// lockLogin makes all who make tokens for a member or set its password wait for one
// another, and returns its tokens, newest first. A login that was proven before the
// password changed makes none after it: that one would outlive it.
// Errors: fault.Unproven for a login that counts no longer.
func lockLogin(tx *db.Tx, l Login, now time.Time) (rows []tokenRow, err error) {
	var c credentialRow
	err = tx.Gorm().Clauses(forUpdate).Take(&c, l.Member).Error
	if fault.KindOf(err) == fault.NotFound || err == nil && l.ByPassword() && c.Version != l.version {
		return nil, errPasswordOver()
	}
	if err != nil {
		return nil, err
	}
	if err := tx.Gorm().Clauses(forUpdate).Where("member_id = ?", l.Member).Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].ID == l.tokenID && rows[i].isValid(now) {
			return rows, nil
		}
	}
	if !l.ByPassword() {
		return nil, errTokenOver()
	}
	return rows, nil
}

// ListTokens lists the tokens and sessions of the member of a login that are valid,
// newest first; with an Oid those of another member, for system administrators.
// Errors: fault.Denied; fault.Invalid for what is no Oid of a member; fault.NotFound.
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
	err := s.db.Gorm(ctx).Scopes(notRevoked).Where("member_id = ? AND COALESCE(expires_at, ?) > ?", id, db.Forever, s.now().UnixMicro()).
		Order("created_at DESC, id DESC").Find(&rows).Error
	list := TokenList{Tokens: make([]TokenView, len(rows))}
	for i := range rows {
		list.Tokens[i] = s.view(&rows[i], l)
	}
	return list, err
}

// memberOf returns the stored id of a member whose tokens who may list.
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
	err = s.db.QueryRow(ctx, `SELECT id FROM asset WHERE id = ? AND type = ? AND state < ?`, id, s.roles.member.Code, meta.StateDeleted).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		err = errNotFound()
	}
	return id, err
}

// EndToken revokes a token of the member of a login, for a system administrator anybody's,
// by its id or "current". One that was revoked before is answered in the same way.
// Errors: fault.NotFound; fault.Invalid for "current" with a password.
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
	row, err := s.revokeOne(ctx, id, func(r tokenRow) bool { return r.MemberID == l.Member || who.Admin })
	if fault.KindOf(err) == fault.NotFound {
		return TokenView{}, errNotFound()
	}
	return s.view(&row, l), err
}

func errNotFound() error { return fault.NotFoundf("Not Found") }
