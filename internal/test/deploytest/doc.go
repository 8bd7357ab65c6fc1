// Package deploytest runs the files for deployments with the programs that read them: the Procfile from a
// clean copy of the sources, the configuration of the proxy, the compose file, the systemd units and the
// Kubernetes manifests.
//
// The proxies of docs/proxies.md run in front of two apis, with their files from deploy/proxies. Only
// addresses and certificates are replaced. The tests check the client address that alds sees, how bodies
// and answers pass, and what clients see while an api is replaced (front_test.go, proxies_test.go).
package deploytest
