package auth

import (
	"time"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
)

// TokenView is a token or a session as clients see it. Spec: interface 5.9.
type TokenView struct {
	ID               string      `json:"id"`
	Member           string      `json:"member"` // Oid
	Name             string      `json:"name"`
	Session          bool        `json:"session"`
	Created          string      `json:"created"`  // UTC, like all times here
	Expires          *string     `json:"expires"`  // null: never
	LastUsed         *string     `json:"lastUsed"` // null: never
	LastAddress      *string     `json:"lastAddress"`
	EndsWithPassword bool        `json:"endsWithPassword"`
	Bounds           *BoundsView `json:"bounds"`          // null: none
	Current          bool        `json:"current"`         // true: the request was sent with this token
	Token            string      `json:"token,omitempty"` // only in the answer to the request that created it
}

// TokenList is a list of tokens.
type TokenList struct {
	Tokens []TokenView `json:"tokens"`
}

func (s *Service) view(r *tokenRow, l Login) TokenView {
	created := r.CreatedAt
	return TokenView{
		ID: r.ID, Member: oid.OID{Type: s.roles.member.Name, ID: s.roles.member.Shown(r.MemberID)}.String(),
		Name: r.Name, Session: r.IsSession, Created: *shownInstant(&created), Expires: shownInstant(r.ExpiresAt),
		LastUsed: shownInstant(r.LastUsedAt), LastAddress: r.LastAddress,
		EndsWithPassword: r.EndsWithPassword, Bounds: s.viewOf(r.Bounds), Current: r.ID == l.tokenID,
	}
}

func shownInstant(micros *int64) *string {
	if micros == nil {
		return nil
	}
	text := string(value.AppendInstant(nil, *micros))
	return &text
}

// sessionName is the name of a session if the body has no name.
const sessionName = "Session"

// TokenLasts is how long a token is valid if nobody says when it expires.
const TokenLasts = 90 * 24 * time.Hour

// Never is the expiry of a token that does not expire.
const Never = "never"

// parseToken reads the options of a new token from a body. A value of null counts as absent. The
// caller sets the expiry of a session. Errors: fault.Invalid.
func parseToken(body []byte, yaml bool, now time.Time) (o TokenOptions, err error) {
	o.Expires = now.Add(TokenLasts)
	docs, err := document.Parse(body, yaml)
	if err != nil {
		return o, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map {
		return o, fault.Invalidf(0, `A token is made of one object: {"name", "expires", "endsWithPassword", "session", "bounds"}`)
	}
	n := &docs[0]
	for i, key := range n.Keys {
		if err := o.set(key, &n.Items[i]); err != nil {
			return o, err
		}
	}
	if !o.session {
		return o, nil
	}
	if v, ok := n.Get("expires"); ok && v.Kind != document.Null {
		return o, fault.Invalidf(v.At, "The end of a session is fixed: leave out expires")
	}
	if v, ok := n.Get("bounds"); ok && v.Kind != document.Null {
		return o, fault.Invalidf(v.At, "A session has no bounds: leave out bounds")
	}
	if v, ok := n.Get("endsWithPassword"); ok && v.Text == "false" {
		return o, fault.Invalidf(v.At, "A session ends with the password")
	}
	if v, ok := n.Get("name"); !ok || v.Kind == document.Null {
		o.Name = sessionName
	}
	o.EndsWithPassword = true
	return o, nil
}

// set sets the option of one key of a body. Errors: fault.Invalid.
func (o *TokenOptions) set(key string, v *document.Node) (err error) {
	var want document.Kind
	switch key {
	case "name", "expires":
		want = document.String
	case "endsWithPassword", "session":
		want = document.Bool
	case "bounds":
		o.Bounds, err = parseBounds(v)
		return err
	default:
		return fault.Invalidf(v.At, "Invalid key at node(s): root->%s", key)
	}
	if v.Kind == document.Null {
		return nil
	}
	if v.Kind != want {
		return fault.Invalidf(v.At, "%s must be a %s", key, want)
	}
	switch key {
	case "name":
		o.Name = v.Text
	case "endsWithPassword":
		o.EndsWithPassword = v.Text == "true"
	case "session":
		o.session = v.Text == "true"
	case "expires":
		if v.Text == Never {
			o.Expires = time.Time{}
			return nil
		}
		at, ok := value.Instant(v.Text)
		if !ok || at <= 0 { // at <= 0 includes the zero time, which means never
			return fault.Invalidf(v.At, "Invalid expires: %s (wanted: a day, an instant or never)", v.Text)
		}
		o.Expires = time.UnixMicro(at).UTC()
	}
	return nil
}
