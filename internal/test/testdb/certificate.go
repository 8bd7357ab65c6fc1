package testdb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificate is a server certificate in files. The authority that has signed it is not trusted by any
// system.
type Certificate struct {
	CA, Cert, Key string // paths of PEM files
}

// NewCertificate creates a certificate for hosts: names or IP addresses. The certificate is valid for an
// hour.
func NewCertificate(t testing.TB, hosts ...string) Certificate {
	t.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server of a test"}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, h)
		}
	}
	authorityKey, serverKey := newKey(t), newKey(t)
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Certificate{
		CA: writePEM(t, dir, "ca.pem", "CERTIFICATE", ca), Cert: writePEM(t, dir, "cert.pem", "CERTIFICATE", cert),
		Key: writePEM(t, dir, "key.pem", "PRIVATE KEY", key),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// redisTLS returns the options with which a Redis or a sentinel also listens for TLS connections on the
// port.
func redisTLS(c Certificate, port string) []string {
	return []string{
		"--tls-port", port, "--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA,
		"--tls-auth-clients", "no", "--tls-replication", "yes",
	}
}

// OwnMySQLWithTLS is like OwnMySQL, for a server that accepts connections with TLS and without.
func OwnMySQLWithTLS(t testing.TB, c Certificate) *Own {
	t.Helper()
	o := OwnMySQL(t)
	o.Stop()
	o.With("--ssl-cert="+c.Cert, "--ssl-key="+c.Key, "--ssl-ca="+c.CA)
	o.Start()
	return o
}

// OwnRedisWithTLS starts a Redis. At its URL, it accepts only connections with TLS.
func OwnRedisWithTLS(t testing.TB, c Certificate) *Own {
	t.Helper()
	o, port := OwnRedis(t), Port(t)
	o.Stop()
	o.With(redisTLS(c, port)...)
	o.Start()
	o.URL = "rediss://127.0.0.1:" + port
	return o
}

// OwnSentinelWithTLS starts a Redis Sentinel. The master that it monitors has the name "main" and was
// started by OwnRedisWithTLS. At its URL, the sentinel accepts only connections with TLS.
func OwnSentinelWithTLS(t testing.TB, c Certificate, master *Own) *Own {
	t.Helper()
	dir, port, secure := scratch(t), Port(t), Port(t)
	_, at, err := net.SplitHostPort(master.URL[len("rediss://"):])
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "sentinel.conf") // the sentinel stores its state in this file
	if err := os.WriteFile(settings, []byte("sentinel monitor main 127.0.0.1 "+at+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &Own{
		URL: "rediss+sentinel://127.0.0.1:" + secure + "/main", t: t, name: "sentinel", log: filepath.Join(dir, "log"),
		args: append([]string{
			program(t, "redis-server", "redis-server"), settings, "--sentinel", "--port", port, "--bind", "127.0.0.1", "--dir", dir,
		}, redisTLS(c, secure)...),
	}
	o.ready = answersPing(port)
	o.begin()
	return o
}
