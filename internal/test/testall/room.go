//go:build !linux

package main

func hasRoom(string) bool { return false }
