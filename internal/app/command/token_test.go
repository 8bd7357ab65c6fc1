package command

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"720h":                      now.Add(720 * time.Hour),
		"90m":                       now.Add(90 * time.Minute),
		"2026-05-07":                time.Date(2026, 5, 7, 0, 0, 0, 0, time.UTC),
		"2026-05-06T09:00:00+01:00": time.Date(2026, 5, 6, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := expiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"2026-05-06", "-1h", "0h", "30", "tomorrow", "2026-13-01", "2026-05-06T07:08:09Z"} {
		if got, err := expiry(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTokensArePrinted(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2026, 5, 6, h, 8, 9, 0, time.UTC) }
	var b bytes.Buffer
	if err := printTokens(&b, []auth.Token{
		{ID: "1", Member: 20, Username: "admin", Name: "loader", Created: at(1), LastUsed: at(9), MayLogin: true},
		{ID: "2", Member: 20, Username: "admin", Name: "a\x1b[2Jb", Created: at(1), Expires: at(20), MayLogin: true, EndsWithPassword: true},
		{ID: "3", Member: 1001, Name: "old", Created: at(1), Expires: at(10)},
		{ID: "4", Member: 1001, Name: "gone", Created: at(1), Revoked: at(3)},
		{ID: "5", Member: 1001, Name: "closed", Created: at(1)},
		{ID: "6", Member: 20, Username: "admin", Name: "Session", Created: at(1), Expires: at(20), MayLogin: true, EndsWithPassword: true, Session: true},
		{ID: "7", Member: 20, Username: "admin", Name: "Session", Created: at(1), Expires: at(9), MayLogin: true, EndsWithPassword: true, Session: true},
	}, at(10)); err != nil {
		t.Fatal(err)
	}
	want := `
ID  MEMBER       NAME     CREATED            EXPIRES            LAST USED          STATE
1   admin        loader   2026-05-06 01:08Z  never              2026-05-06 09:08Z  active
2   admin        a?[2Jb   2026-05-06 01:08Z  2026-05-06 20:08Z  never              active, ends with password
3   Member:1001  old      2026-05-06 01:08Z  2026-05-06 10:08Z  never              expired
4   Member:1001  gone     2026-05-06 01:08Z  never              never              revoked 2026-05-06 03:08Z
5   Member:1001  closed   2026-05-06 01:08Z  never              never              member may not log in
6   admin        Session  2026-05-06 01:08Z  2026-05-06 20:08Z  never              active, session
7   admin        Session  2026-05-06 01:08Z  2026-05-06 09:08Z  never              expired, session
`
	if got := "\n" + b.String(); got != want {
		t.Error(got)
	}
}

func TestTokenCommands(t *testing.T) {
	settings := migrated(t, "mysql")
	run := func(args ...string) (string, error) {
		return output(t, settings, append([]string{"token"}, args...)...)
	}
	made, err := run("create", "--member", "Admin", "--name", "nightly", "--expires", "720h", "--ends-with-password")
	if err != nil || !regexp.MustCompile(`^1\.[\w+/=]{44}\n$`).MatchString(made) {
		t.Fatalf("%q, %v", made, err)
	}
	list, err := run("list", "--member", "admin")
	row := regexp.MustCompile(`\n([0-9a-f-]{36})  admin   nightly  .*Z  20.*Z  never +active, ends with password\n$`).FindStringSubmatch(list)
	if err != nil || row == nil || strings.Contains(list, strings.TrimSpace(made)) {
		t.Fatalf("%s, %v", list, err)
	}
	if out, err := run("revoke", row[1]); err != nil || out != row[1]+" revoked\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("revoke", row[1]); err != nil || out != row[1]+" was revoked before\n" {
		t.Errorf("%q, %v", out, err)
	}
	if list, err := run("list"); err != nil || !strings.Contains(list, "revoked 20") {
		t.Errorf("%s, %v", list, err)
	}
	for _, args := range [][]string{{"list", "--member", "ghost"}, {"create", "--member", "ghost", "--name", "x"}, {"revoke", "x"}} {
		if out, err := run(args...); fault.KindOf(err) != fault.NotFound || out != "" {
			t.Errorf("%q: %q, %v", args, out, err)
		}
	}
}
