// Package deploytest tests the files for deployments with the programs that read these files: the Procfile
// in a clean copy of the sources, the configuration of the proxy, the compose file, the systemd units and
// the Kubernetes manifests.
//
// The proxies of docs/proxies.md run in front of two apis, with their files from deploy/proxies. The tests
// replace only addresses and certificates in these files. They check which client address reaches alds, how
// bodies and answers pass through, and what clients see while an api is replaced (front_test.go,
// proxies_test.go).
package deploytest
