// Package tlsmode makes the TLS configuration of connections to a server from the
// parameters of its address:
//
//	tls=true         TLS; the certificate has to be valid and of the host's name
//	tls=verify-ca    TLS; the certificate has to be valid, of whatever name
//	tls=skip-verify  TLS; any certificate will do
//	tls=preferred    as skip-verify where the server has TLS, else none
//	tls=false        no TLS
//	tls-ca=/path     a file of PEM certificates: the only authorities that count
package tlsmode
