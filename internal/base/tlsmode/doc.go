// Package tlsmode makes the TLS configuration for connections to a server, from the
// parameters of its address:
//
//	tls=true         TLS; the certificate must be valid and have the host's name
//	tls=verify-ca    TLS; the certificate must be valid, with any name
//	tls=skip-verify  TLS; any certificate is accepted
//	tls=preferred    as skip-verify if the server has TLS, else no TLS
//	tls=false        no TLS
//	tls-ca=/path     a file with the PEM certificates of the only accepted authorities
package tlsmode
