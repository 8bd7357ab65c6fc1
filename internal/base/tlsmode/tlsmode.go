package tlsmode

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// The modes, from the weakest to the strongest.
const (
	Off        = "false"
	Preferred  = "preferred"
	SkipVerify = "skip-verify"
	VerifyCA   = "verify-ca"
	Verify     = "true"
)

// Modes returns all modes, from the weakest to the strongest.
func Modes() []string { return []string{Off, Preferred, SkipVerify, VerifyCA, Verify} }

// New returns the configuration for a mode and a file with the certificates of authorities. If
// caFile is empty, it uses the authorities of the system. New returns nil for the modes Off and "".
// The caller sets the name of the host. For Preferred, the caller also decides whether to connect
// without TLS. New returns an error for an unknown mode, and for a file that cannot be read or has no
// certificates.
func New(mode, caFile string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile) //nolint:gosec // the operator's
		if err != nil {
			return nil, fmt.Errorf("read the CA certificates (tls-ca): %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file %s (tls-ca) has no PEM certificate", caFile)
		}
	}
	switch mode {
	case "", Off:
		return nil, nil //nolint:nilnil // nil means no TLS
	case Verify:
	case VerifyCA:
		c.InsecureSkipVerify = true //nolint:gosec // verifyChain takes its place
		c.VerifyConnection = verifyChain(c.RootCAs)
	case Preferred, SkipVerify:
		c.InsecureSkipVerify = true //nolint:gosec // asked for
	default:
		return nil, fmt.Errorf("the TLS mode must be one of %v", Modes()) // the value may be a secret
	}
	return c, nil
}

// verifyChain verifies a server's certificate, except for its name.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(o)
		return err
	}
}
