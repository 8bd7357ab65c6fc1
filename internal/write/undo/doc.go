// Package undo takes back what writes have changed. It finds the versions of the writes, and lets
// the write engine give each asset the values that it had before.
//
//	{"requestId": "…"}                               one write, or a list of writes
//	{"asset": "Story:1005", "moment": 1234}          one change of one asset
//	{"by": "Member:20", "since": "…", "until": "…"}  what a member has written in a time; or a token, by its id
//
// An undo is a write like any other, by the rights and rules of the caller. So it can be undone
// itself. What has changed since is a conflict and stays as it is.
//
// Spec: interface 4.17.
package undo
