// Package testseed provides the seed of random tests: a new seed each time, or the seed that the flag -seed
// sets. A failed test prints its seed.
package testseed
