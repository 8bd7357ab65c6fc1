package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/app"
)

// createToken creates an access token.
type createToken struct {
	Member           string     `required:"" placeholder:"NAME" help:"The username of the member."`
	Name             string     `required:"" placeholder:"TEXT" help:"What the token is for."`
	Expires          expiryFlag `placeholder:"TIME" help:"When the token expires: after a time such as 720h, on a day such as 2027-01-31 (at 00:00 UTC), or at an instant such as 2027-01-31T12:00:00Z. Or never. Default: after 90 days."`
	EndsWithPassword bool       `help:"Revoke the token when the member's password changes."`
	Writes           string     `enum:"all,plans,proposals,none" default:"all" help:"What the token writes: all that the member may write, only by plans, only proposals, or nothing (all, plans, proposals or none). Default: all."`
	NoDeletes        bool       `help:"The token deletes nothing."`
	Project          []string   `placeholder:"OID" help:"The token reads and writes only in this project and below, such as Scope:1005. May be repeated."`
	Type             []string   `placeholder:"TYPE" help:"The token reads and writes only assets of this type, such as Story. May be repeated."`
	Address          []string   `placeholder:"NETWORK" help:"The token is accepted only from this IP address or network, such as 10.0.0.0/8. May be repeated."`
	Changes          int        `placeholder:"NUMBER" help:"The most changes that one request with the token makes. Default: no limit."`
	Hourly           int        `placeholder:"NUMBER" help:"The most changes that the token makes in an hour. Default: no limit."`
}

// limit returns a limit of the bounds; nil: none.
func limit(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// bounds returns the bounds of the token.
func (c createToken) bounds() *auth.BoundsView {
	return &auth.BoundsView{Writes: c.Writes, Deletes: !c.NoDeletes, Projects: c.Project, Types: c.Type, Addresses: c.Address, Changes: limit(c.Changes), Hourly: limit(c.Hourly)}
}

// Run prints a new access token, and nothing else, on stdout.
func (c createToken) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		expires := c.Expires.at
		if !c.Expires.given {
			expires = time.Now().Add(auth.TokenLasts)
		}
		token, err := i.Auth.CreateToken(ctx, c.Member, auth.TokenOptions{
			Name: c.Name, Expires: expires, EndsWithPassword: c.EndsWithPassword, Bounds: c.bounds(),
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(o.stdout, token)
		return err
	})
}

// expiryFlag is the time at which a token expires; the zero time: never.
type expiryFlag struct {
	at    time.Time
	given bool
}

// UnmarshalText reads the time; see expiry. A duration is counted from now.
func (f *expiryFlag) UnmarshalText(text []byte) (err error) {
	f.given = len(text) > 0
	f.at, err = expiry(string(text), time.Now())
	return err
}

// expiry reads the time at which a token expires: a duration from now (720h), a day (its start
// in UTC), or an instant with a time zone. For an empty text and for never it returns the zero time: never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" || text == auth.Never {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return time.Time{}, fmt.Errorf("%s is not in the future", text)
		}
		return now.Add(d), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		at, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if !at.After(now) {
			return time.Time{}, fmt.Errorf("%s is not in the future", text)
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%s is neither a time such as 720h nor a day such as 2027-01-31 nor an instant such as 2027-01-31T12:00:00Z", text)
}

// listTokens lists access tokens.
type listTokens struct {
	Member string `placeholder:"NAME" help:"List only the tokens of the member with this username."`
}

// Run prints a table of access tokens, including expired tokens.
func (c listTokens) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		tokens, err := i.Auth.Tokens(ctx, c.Member)
		if err != nil {
			return err
		}
		return printTokens(o.stdout, tokens, time.Now())
	})
}

func printTokens(stdout io.Writer, tokens []auth.Token, now time.Time) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tMEMBER\tNAME\tCREATED\tEXPIRES\tLAST USED\tSTATE")
	for _, t := range tokens {
		member := t.Username
		if member == "" {
			member = fmt.Sprintf("Member:%d", t.Member)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, printable(member), printable(t.Name),
			minute(t.Created), minute(t.Expires), minute(t.LastUsed), stateOf(t, now))
	}
	return w.Flush()
}

// stateOf returns the state of a token as text: active, or the reason why the token does not work.
// For a session, the text ends with ", session".
func stateOf(t auth.Token, now time.Time) string {
	if t.Session {
		t.Session, t.EndsWithPassword = false, false // all sessions end when the password changes
		return stateOf(t, now) + ", session"
	}
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + minute(t.Revoked)
	case !t.Expires.IsZero() && !t.Expires.After(now):
		return "expired"
	case !t.MayLogin:
		return "member may not log in"
	}
	state := "active"
	if t.EndsWithPassword {
		state += ", ends with password"
	}
	if t.Bounds != nil {
		state += ", has bounds"
	}
	return state
}

// minute returns an instant in UTC, to the minute; "never" for the zero time.
func minute(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format("2006-01-02 15:04Z")
}

// printable replaces characters that would disturb a terminal or the table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// revokeToken revokes an access token.
type revokeToken struct {
	ID string `arg:"" name:"id" help:"The ID in the list of tokens."`
}

// Run revokes the token. It prints whether the token had been revoked before.
func (c revokeToken) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		revoked, err := i.Auth.RevokeToken(ctx, c.ID)
		if err != nil {
			return err
		}
		outcome := "revoked"
		if !revoked {
			outcome = "was revoked before"
		}
		_, err = fmt.Fprintln(o.stdout, c.ID, outcome)
		return err
	})
}
