package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

// vault is a fake of asset.Credentials. It counts the sealed passwords and remembers the stored
// hashes. Seal fails while a transaction is open, because SQLite has only one write connection.
type vault struct {
	d      *db.DB
	sealed int
	stored map[int64]string
}

var errInside = errors.New("sealed while the transaction is open")

func (v *vault) Seal(ctx context.Context, password string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if _, err := v.d.Exec(ctx, `UPDATE sequence SET value = value WHERE name = 'none'`); err != nil {
		return "", errInside
	}
	if password == "" || password == "bad" {
		return "", fault.Invalidf(fault.NoPlace, "Violation'Invalid'Member.Password")
	}
	v.sealed++
	return "sealed " + password, nil
}

func (*vault) HaveLogin(context.Context, *db.Tx, []int64) (bool, error) { return true, nil }

func (*vault) Prove(context.Context, int64, string) (bool, error) { return false, nil }

func (*vault) Digest(_ context.Context, text, _ string) (string, error) {
	return fmt.Sprintf("slow%060d", len(text)), nil
}

func (v *vault) Set(_ context.Context, _ *db.Tx, member int64, _, sealed *string) error {
	if sealed != nil {
		v.stored[member] = *sealed
	}
	return nil
}

// No answer shows an old password, not even to the client that sent it.
func TestOldPasswordsAreNotShown(t *testing.T) {
	d := testdb.SQLite(t)
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	e := bulk.New(asset.New(d, model, &vault{d: d, stored: map[int64]string{}}, nil), find.New(d, model))
	for _, command := range []string{
		`{"from":"Member:20","update":{"OldPassword":"hush"}}`,
		`{"from":"Member","where":{"Name":"Administrator"},"update":{"OldPassword":"hush"}}`,
		`[{"@x":{"AssetType":"Story","Scope":"Scope:0","Name":"S"}},{"from":"Member","where":{"OwnedWorkitems":"@x"},"update":{"OldPassword":"hush"}}]`,
		`{"from":"Member:20","update":{"OldPassword":["hush"]}}`,
		`{"AssetType":"Member","Name":"N","OldPassword":"hush"}`,
		`{"@s":{"AssetType":"Story","Name":"S","Owners":[{"AssetType":"Member","Name":"N","OldPassword":"hush"}]}}`,
	} {
		for _, preview := range []bool{false, true} {
			b, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(command), Preview: preview})
			if err != nil || strings.Contains(string(b), "hush") {
				t.Errorf("%s, preview %v: %s %v", command, preview, b, err)
			}
		}
	}
}

// The hash of the body of a request is stored. If the body contains a password, the hash function
// is slow, so that nobody can guess the password from the hash.
func TestHashesOfPasswordsAreSlow(t *testing.T) {
	d := testdb.SQLite(t)
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	assets := asset.New(d, model, &vault{d: d, stored: map[int64]string{}}, nil)
	e := bulk.New(assets, find.New(d, model))
	later := bulk.NewAsync(e, members{}, nil, slog.New(slog.DiscardHandler))
	for i, c := range []struct {
		body string
		slow bool
	}{
		{`{"from":"Member:20","update":{"Password":"one"}}`, true},
		{`{"AssetType":"Story","Name":"S","Scope":"Scope:0","Owners":[{"AssetType":"Member","Name":"N","Nickname":"N","DefaultRole":"Role:4","Password":"one"}]}`, true},
		{`{"AssetType":"Story","Name":"S","Scope":"Scope:0"}`, false},
	} {
		keys := []string{fmt.Sprint("now", i), fmt.Sprint("later", i)}
		if _, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(c.body), Key: keys[0]}); err != nil {
			t.Fatal(err)
		}
		if _, err := later.Accept(t.Context(), auth.System, bulk.Request{Body: []byte(c.body), Key: keys[1]}); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			var hash string
			if err := d.QueryRow(t.Context(), "SELECT body_hash FROM bulk_request WHERE idem_key = ?", key).Scan(&hash); err != nil {
				t.Fatal(err)
			}
			if len(hash) != 64 || strings.HasPrefix(hash, "slow") != c.slow {
				t.Errorf("%s is known by %s", c.body, hash)
			}
		}
	}
}

// For a member who may not set passwords of other members, the service hashes only a few
// passwords per request.
func TestFewPasswordsAreHashedForMembers(t *testing.T) {
	d := testdb.SQLite(t)
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{`{"from":"Member:20","update":{"Password":"x"}}`, `{"AssetType":"Member","Name":"N","Nickname":"N","DefaultRole":"Role:4","Username":"n","Password":"x"}`, `{"from":"Member:20","update":{"Password":{"add":["x"],"remove":[]}}}`} {
		for _, preview := range []bool{false, true} {
			v := &vault{d: d, stored: map[int64]string{}}
			e := bulk.New(asset.New(d, model, v, nil), find.New(d, model))
			body := "[" + command + strings.Repeat(","+command, 99) + "]"
			b, err := e.Run(t.Context(), auth.Actor{Member: 4711}, bulk.Request{Body: []byte(body), Preview: preview})
			if err != nil || v.sealed > asset.MaxOwnPasswords || len(v.stored) > 0 {
				t.Errorf("%s, preview %v: %d hashed, %.200s %v", command, preview, v.sealed, b, err)
			}
		}
	}
}

// Passwords are hashed before the transaction, wherever they are in a command.
func TestPasswordsAreSealedBeforeTheTransaction(t *testing.T) {
	d := testdb.SQLite(t)
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	v := &vault{d: d, stored: map[int64]string{}}
	assets := asset.New(d, model, v, nil)
	e := bulk.New(assets, find.New(d, model))
	const who = `"AssetType":"Member","Name":"N","Nickname":"N","DefaultRole":"Role:4"`
	run(t, e, `{`+who+`,"Username":"a","Password":"one"}`, false)
	run(t, e, `{"@m":{`+who+`,"Username":"b","Password":"two"}}`, false)
	run(t, e, `[{"@w":{`+who+`,"Username":"c"}},{"from":"@w","update":{"Password":"three"}},{"from":"Member","where":{"Username":"@none"},"update":{"Password":"x"}}]`, false)
	run(t, e, `{"AssetType":"Story","Name":"S","Scope":"Scope:0","Owners":[{`+who+`,"Username":"d","Password":"four"}]}`, false)
	run(t, e, `{"from":"Member:20","update":{"Password":7}}`, false)
	run(t, e, `{`+who+`,"Password":"preview"}`, true)
	for _, want := range []string{"sealed one", "sealed two", "sealed three", "sealed four"} {
		found := false
		for _, s := range v.stored {
			found = found || s == want
		}
		if !found {
			t.Errorf("%q is not stored: %v", want, v.stored)
		}
	}
	if v.sealed != 6 { // includes "x", although its query later finds no member
		t.Errorf("%d passwords sealed", v.sealed)
	}
}
