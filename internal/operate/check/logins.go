package check

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
)

var byLogin = key{table: "credential", column: "member_id"}

// logins expects that every login has the Username of a member, and that every member with a
// Username has a login.
func (c *checker) logins(ctx context.Context) error {
	member, ok := c.m.Type("Member")
	if !ok {
		return nil
	}
	name, ok := member.Attr("Username")
	if !ok || name.Place.Kind != meta.InAttrs {
		return nil
	}
	err := c.eachIn(ctx, byLogin, func(scan row) error {
		var id int64
		var login, folded string
		var code sql.NullInt32
		var attrs sql.RawBytes
		if err := scan(&id, &login, &folded, &code, &attrs); err != nil {
			return err
		}
		if int(code.Int32) != member.Code {
			return c.report("credential", id, "the login %q belongs to no member", login)
		}
		if has := textsIn(attrs)[name.Place.Column]; has != login {
			return c.report("credential", id, "the login is %q, but the member's Username is %q", login, has)
		}
		if folded != folding.Of(login) {
			c.mend(`UPDATE credential SET folded = ? WHERE member_id = ?`, folding.Of(login), id)
			return c.report("credential", id, "the login %q has the wrong folded form %q:"+
				" nobody can log in with it until the member's Username is changed", login, folded)
		}
		return nil
	}, `SELECT c.member_id, c.username, c.folded, a.type, a.attrs FROM credential c`+
		` LEFT JOIN asset a ON a.id = c.member_id WHERE {c.member_id} ORDER BY c.member_id`)
	if err != nil {
		return err
	}
	return c.eachIn(ctx, ofType(member.Code), func(scan row) error {
		var id int64
		var attrs sql.RawBytes
		if err := scan(&id, &attrs); err != nil {
			return err
		}
		login := textsIn(attrs)[name.Place.Column]
		if login == "" || c.seeds[id] && !c.installed {
			return nil
		}
		return c.reportWith(fmt.Sprintf("set its password: `api password --member %s`", shellWord(login)), "asset", id,
			"its Username is %q, and nobody can log in with it", login)
	}, `SELECT a.id, a.attrs FROM asset a LEFT JOIN credential c ON c.member_id = a.id`+
		` WHERE a.type = ? AND {a.id} AND a.state < ? AND c.member_id IS NULL ORDER BY a.id`,
		member.Code, meta.StateDeleted)
}

// recreated is the tolerance in microseconds between the creation of a credential and the
// audit event of the same change, because the two times come from different clocks.
const recreated = int64(time.Minute / time.Microsecond)

// shellWord returns a text as one word of a shell command, quoted if necessary.
func shellWord(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("@._-", r)
	}) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// passwords checks that every stored password has the form of a hash. A login must have a password
// if its password was set. In an installation, at least one login must have a password.
//
// The audit trail, as far as it is kept, contains the times when passwords were set. When a
// credential is created, its version is the time of creation in microseconds.
func (c *checker) passwords(ctx context.Context) error {
	logins, usable, before := 0, 0, len(c.found)
	err := c.eachIn(ctx, byLogin, func(scan row) error {
		var id, version int64
		var login string
		var hash sql.NullString
		var set, named sql.NullInt64
		if err := scan(&id, &login, &version, &hash, &set, &named); err != nil {
			return err
		}
		logins++
		if hash.Valid {
			usable++
		}
		switch {
		case hash.Valid && !isHash(hash.String):
			return c.report("credential", id, "the password of the login %q cannot be read", login)
		case !hash.Valid && set.Valid && set.Int64 < version+recreated && named.Int64 > set.Int64:
			// The Username was cleared, which removed the login with its password. Then the
			// Username was set again.
		case !hash.Valid && set.Valid && set.Int64 >= version-recreated:
			return c.report("credential", id, "the password of the login %q is missing, but was set at %s",
				login, time.UnixMicro(set.Int64).UTC().Format(time.RFC3339))
		}
		return nil
	}, `SELECT c.member_id, c.username, c.version, c.password_hash, `+lastChange("Password")+`, `+lastChange("Username")+
		` FROM credential c WHERE {c.member_id} ORDER BY c.member_id`)
	if err != nil || !c.installed || logins == 0 || usable > 0 || len(c.found) > before {
		return err
	}
	return c.report("credential", 0, "no login has a password: nobody can log in")
}

// lastChange returns an SQL expression for the last time at which a part of the credential c was
// set, in UTC microseconds. The expression is NULL if the credential has a password.
func lastChange(of string) string {
	return `CASE WHEN c.password_hash IS NULL THEN (SELECT MAX(t.at) FROM audit_trail t` +
		` WHERE t.member_id = c.member_id AND t.kind = 'LoginChanged' AND t.detail LIKE '%"` + of + `"%') END`
}

// isHash reports whether a text has the form of a password hash: the algorithm with its
// parameters, the salt and the hash.
func isHash(text string) bool {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" ||
		!strings.HasPrefix(parts[2], "v=") || !strings.HasPrefix(parts[3], "m=") {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	hash, wrong := base64.RawStdEncoding.DecodeString(parts[5])
	return err == nil && wrong == nil && len(salt) > 0 && len(hash) >= 16
}
