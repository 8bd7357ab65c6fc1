package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestTLS tests each mode of TLS, directly and through a sentinel. The certificates are not signed
// by a certificate authority that the system trusts.
func TestTLS(t *testing.T) {
	named := testdb.NewCertificate(t, "127.0.0.1")
	elsewhere := testdb.NewCertificate(t, "redis.test")
	server, stranger := testdb.OwnRedisWithTLS(t, named), testdb.OwnRedisWithTLS(t, elsewhere)
	sentinel := testdb.OwnSentinelWithTLS(t, named, server)
	for _, c := range []struct {
		url  string
		does bool
	}{
		{server.URL, false}, // the client trusts only the certificate authorities of the system
		{server.URL + "?tls=skip-verify", true},
		{server.URL + "?tls=verify-ca", false},
		{server.URL + "?tls=true&tls-ca=" + named.CA, true},
		{server.URL + "?tls-ca=" + named.CA, true},
		{server.URL + "?tls=verify-ca&tls-ca=" + named.CA, true},
		{server.URL + "?tls-ca=" + elsewhere.CA, false},
		{strings.Replace(server.URL, "rediss:", "redis:", 1), false},
		{strings.Replace(server.URL, "rediss:", "redis:", 1) + "?tls=skip-verify", true},
		{stranger.URL + "?tls-ca=" + elsewhere.CA, false},
		{stranger.URL + "?tls=verify-ca&tls-ca=" + elsewhere.CA, true},
		{sentinel.URL, false},
		{sentinel.URL + "?tls=skip-verify", true},
		{sentinel.URL + "?tls=true&tls-ca=" + named.CA, true},
		{strings.Replace(sentinel.URL, "rediss+", "redis+", 1), false},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel() // cases that must fail take long (less with -short): the client retries connections
			q, within := open(t, c.url), time.Minute
			if testing.Short() && !c.does {
				within = 3 * time.Second
			}
			if err := q.pingWithin(t.Context(), within); (err == nil) != c.does {
				t.Error(err)
			}
		})
	}
	for _, parameters := range []string{"tls=preferred", "tls=perhaps", "tls=true&tls-ca=/nowhere", "tls-ca=" + named.Key} {
		if q, err := Open(server.URL+"?"+parameters, nil, nil); err == nil {
			t.Errorf("%s is no way to speak to Redis", parameters)
			_ = q.Close()
		}
	}
}
