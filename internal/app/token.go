package app

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/alds-dev/alds/internal/auth"
)

// tokenCommand runs the token commands.
func tokenCommand(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, roles ...Role) error {
	var do func(*service) error
	var err error
	switch {
	case len(args) == 0:
		return errUsage
	case args[0] == "create":
		do, err = createToken(ctx, args[1:], time.Now(), stdout)
	case args[0] == "list":
		do, err = listTokens(ctx, args[1:], stdout)
	case args[0] == "revoke":
		do, err = revokeToken(ctx, args[1:], stdout)
	default:
		return wrongUsage("token %s: there is token create, token list and token revoke", args[0])
	}
	if err != nil {
		return err
	}
	s, err := open(ctx, getenv, stderr, merge(roles))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return do(s)
}

// createToken prints a new access token, and nothing else, on stdout.
func createToken(ctx context.Context, args []string, now time.Time, stdout io.Writer) (func(*service) error, error) {
	flags := tokenFlags("create")
	member := flags.String("member", "", "")
	name := flags.String("name", "", "")
	expires := flags.String("expires", "", "")
	ends := flags.Bool("ends-with-password", false, "")
	if err := parse(flags, args, 0); err != nil {
		return nil, err
	}
	if *member == "" || strings.TrimSpace(*name) == "" {
		return nil, wrongUsage("token create needs --member and --name")
	}
	until, err := expiry(*expires, now)
	if err != nil {
		return nil, err
	}
	return func(s *service) error {
		token, err := s.auth.CreateToken(ctx, *member, auth.TokenOptions{Name: *name, Expires: until, EndsWithPassword: *ends})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, token)
		return err
	}, nil
}

// expiry parses when a token expires: a duration from now (720h), a day, from its
// first instant in UTC, or an instant with its zone. Zero: never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return time.Time{}, wrongUsage("--expires %s is not in the future", text)
		}
		return now.Add(d), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		at, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if !at.After(now) {
			return time.Time{}, wrongUsage("--expires %s is not in the future", text)
		}
		return at, nil
	}
	return time.Time{}, wrongUsage("--expires %s is neither a time such as 720h nor a day such as 2027-01-31 nor an instant such as 2027-01-31T12:00:00Z", text)
}

// listTokens prints a table of access tokens, expired ones included.
func listTokens(ctx context.Context, args []string, stdout io.Writer) (func(*service) error, error) {
	flags := tokenFlags("list")
	member := flags.String("member", "", "")
	if err := parse(flags, args, 0); err != nil {
		return nil, err
	}
	return func(s *service) error {
		tokens, err := s.auth.Tokens(ctx, *member)
		if err != nil {
			return err
		}
		return printTokens(stdout, tokens, time.Now())
	}, nil
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

// stateOf returns whether a token is active, and if not, why, and whether it is a session.
func stateOf(t auth.Token, now time.Time) string {
	if t.Session {
		t.Session, t.EndsWithPassword = false, false // which all of them do
		return stateOf(t, now) + ", session"
	}
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + minute(t.Revoked)
	case !t.Expires.IsZero() && !t.Expires.After(now):
		return "expired"
	case !t.MayLogin:
		return "member may not log in"
	case t.EndsWithPassword:
		return "active, ends with password"
	}
	return "active"
}

// minute prints an instant in UTC.
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
func revokeToken(ctx context.Context, args []string, stdout io.Writer) (func(*service) error, error) {
	flags := tokenFlags("revoke")
	if err := parse(flags, args, 1); err != nil {
		return nil, err
	}
	id := flags.Arg(0)
	if id == "" {
		return nil, wrongUsage("token revoke needs the ID that token list shows")
	}
	return func(s *service) error {
		revoked, err := s.auth.RevokeToken(ctx, id)
		if err != nil {
			return err
		}
		outcome := "revoked"
		if !revoked {
			outcome = "was revoked before"
		}
		_, err = fmt.Fprintln(stdout, id, outcome)
		return err
	}, nil
}

func tokenFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("token "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is printed once
	return flags
}

// parse reads flags and at most n arguments after them.
func parse(flags *flag.FlagSet, args []string, n int) error {
	if err := flags.Parse(args); err != nil {
		return wrongUsage("%s: %v", flags.Name(), err)
	}
	if flags.NArg() > n {
		return wrongUsage("%s does not take %q", flags.Name(), flags.Arg(n))
	}
	return nil
}
