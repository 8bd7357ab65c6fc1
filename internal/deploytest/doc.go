// Package deploytest runs what stands in the repository for those who deploy alds, with
// the programs that read it: the Procfile from a clean copy of the sources, the
// configuration of the proxy, the compose file, the units of systemd and the manifests
// of Kubernetes.
package deploytest
