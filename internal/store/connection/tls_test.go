package connection_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestTLS tests each mode with servers whose certificates no system authority has signed, and with
// a server without TLS.
func TestTLS(t *testing.T) {
	named := testdb.NewCertificate(t, "127.0.0.1")
	elsewhere := testdb.NewCertificate(t, "db.test")
	other := testdb.NewCertificate(t, "127.0.0.1")
	servers := map[string]*testdb.Own{
		"named": testdb.OwnMySQLWithTLS(t, named), "elsewhere": testdb.OwnMySQLWithTLS(t, elsewhere), "without": testdb.OwnMySQL(t),
	}
	const plain, refused = "plain", "refused"
	for _, c := range []struct{ server, parameters, want string }{
		{"named", "", plain},
		{"named", "tls=false", plain},
		{"named", "tls=preferred", "TLS"},
		{"named", "tls=skip-verify", "TLS"},
		{"named", "tls=true", refused}, // the authorities of the system have not signed the certificate
		{"named", "tls=verify-ca", refused},
		{"named", "tls=true&tls-ca=" + named.CA, "TLS"},
		{"named", "tls=verify-ca&tls-ca=" + named.CA, "TLS"},
		{"named", "tls=true&tls-ca=" + other.CA, refused},
		{"named", "tls=verify-ca&tls-ca=" + other.CA, refused},
		{"named", "tls=true&tls-ca=" + named.Key, refused},
		{"named", "tls=true&tls-ca=/nowhere", refused},
		{"elsewhere", "tls=true&tls-ca=" + elsewhere.CA, refused},
		{"elsewhere", "tls=verify-ca&tls-ca=" + elsewhere.CA, "TLS"},
		{"without", "tls=preferred", plain},
		{"without", "tls=skip-verify", refused},
		{"without", "tls=true", refused},
	} {
		got, err := cipherOf(t, servers[c.server].URL+"/information_schema?"+c.parameters)
		switch {
		case err != nil:
			got = refused
		case got == "":
			got = plain
		case strings.HasPrefix(got, "TLS"):
			got = "TLS"
		}
		if got != c.want {
			t.Errorf("%s, %s: %s %v", c.server, c.parameters, got, err)
		}
		if got == refused && fault.KindOf(err) == fault.Transient {
			t.Errorf("%s, %s: one tries again for ever: %v", c.server, c.parameters, err)
		}
	}
}

// cipherOf returns the TLS version of the connection to a database.
func cipherOf(t *testing.T, address string) (version string, err error) {
	t.Helper()
	d, err := db.Open(t.Context(), address, db.Options{MaxConns: 2})
	if err != nil {
		return "", err
	}
	defer d.Close()
	var name string
	err = d.QueryRow(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_version'").Scan(&name, &version)
	return version, err
}
