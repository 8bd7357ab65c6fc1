// Package deploytest runs what stands in the repository for those who deploy alds, with
// the programs that read it: the Procfile from a clean copy of the sources, the
// configuration of the proxy, the compose file, the units of systemd and the manifests
// of Kubernetes.
//
// The proxies of docs/proxies.md stand in front of two apis, with their files of
// deploy/proxies as they are but for addresses and certificates: what alds uses as the
// client's address, how bodies and answers pass, and what a client sees while an api is
// replaced (front_test.go, proxies_test.go).
package deploytest
