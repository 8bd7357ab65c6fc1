// Package testseed gives random tests their seed: a new one each time, or that of the flag
// -seed, which a failed test prints.
package testseed
