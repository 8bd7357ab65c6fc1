// Package testnpm installs npm packages for tests, and runs the test suite of the Model Context Protocol.
package testnpm
