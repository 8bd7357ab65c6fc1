// Package proxytest runs the proxies of docs/proxies.md, with their files of
// deploy/proxies as they stand but for addresses and certificates, in front of two apis:
// what alds takes for the client's address, how bodies and answers pass, and what a
// client sees while an api is replaced.
package proxytest
