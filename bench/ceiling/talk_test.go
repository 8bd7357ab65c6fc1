package main

import (
	"slices"
	"testing"
)

// packet returns the bytes that a client sends for a command.
func packet(number byte, body ...byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), number}, body...)
}

func TestTalkCounts(t *testing.T) {
	query := packet(0, append([]byte{comQuery}, make([]byte, 300)...)...)
	const comPrepare, comPing = 0x16, 0x0e
	for _, c := range []struct {
		name string
		sent [][]byte // each is sent after the answer to the previous one
		want tally
	}{
		{"a login is no command", [][]byte{packet(1, comQuery, 1, 2)}, tally{}},
		{"a query", [][]byte{query}, tally{1, 1}},
		{"two queries", [][]byte{query, query}, tally{2, 2}},
		{"two queries at once", [][]byte{slices.Concat(query, query)}, tally{2, 1}},
		{"a prepared statement", [][]byte{packet(0, comPrepare, 's'), packet(0, comExecute, 1, 0, 0, 0)}, tally{1, 2}},
		{"a ping", [][]byte{packet(0, comPing)}, tally{0, 1}},
		{"nobody answers a close", [][]byte{packet(0, comClose, 1, 0, 0, 0), packet(0, comQuit)}, tally{}},
		{"a query behind a close", [][]byte{slices.Concat(packet(0, comClose, 1, 0, 0, 0), query)}, tally{1, 1}},
		{"data in front of a statement", [][]byte{slices.Concat(packet(0, comLongData, 1, 0), packet(0, comExecute, 1))}, tally{1, 1}},
		{"an empty packet behind a full one", [][]byte{slices.Concat(packet(0, comQuery), packet(1)), query}, tally{2, 2}},
	} {
		for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
			var all counts
			talk := newTalk(&all)
			for _, sent := range c.sent {
				for part := range slices.Chunk(sent, piece) {
					talk.asked(part)
				}
				talk.answered()
			}
			if got := all.now(); got != c.want {
				t.Errorf("%s, %d bytes at a time: %+v, want %+v", c.name, piece, got, c.want)
			}
		}
	}
}
