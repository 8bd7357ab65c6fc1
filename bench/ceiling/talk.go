package main

import "sync/atomic"

// Commands in the client protocol of MySQL and MariaDB.
const (
	comQuit     = 0x01
	comQuery    = 0x03
	comExecute  = 0x17 // of a prepared statement
	comLongData = 0x18
	comClose    = 0x19 // of a prepared statement
)

// tally counts the traffic to the database.
type tally struct {
	statements int64 // executed statements, including begin and commit
	trips      int64 // times that a client sent data and waited for the answer
}

func (t tally) minus(u tally) tally { return tally{t.statements - u.statements, t.trips - u.trips} }

// counts is the tally of all connections.
type counts struct{ statements, trips atomic.Int64 }

func (c *counts) now() tally { return tally{c.statements.Load(), c.trips.Load()} }

// talk counts the commands of one connection. The client sends packets: three bytes of length,
// the lowest first, then the number of the packet in its command, then the content.
type talk struct {
	all     *counts
	waiting atomic.Bool // the client has sent a command, and no part of the answer has arrived

	// Only the goroutine that reads from the client uses these fields.
	head  [4]byte
	has   int  // bytes of head that are read
	left  int  // remaining bytes of the packet
	first bool // the next byte is the first of a command
}

func newTalk(all *counts) *talk { return &talk{all: all} }

// asked processes data from the client, which may be split at any byte.
func (t *talk) asked(b []byte) {
	for len(b) > 0 {
		if t.left == 0 {
			n := copy(t.head[t.has:], b)
			t.has += n
			if b = b[n:]; t.has < len(t.head) {
				return
			}
			t.has = 0
			t.left = int(t.head[0]) | int(t.head[1])<<8 | int(t.head[2])<<16
			t.first = t.head[3] == 0
			continue
		}
		if t.first {
			t.first = false
			t.command(b[0])
		}
		n := min(t.left, len(b))
		t.left -= n
		b = b[n:]
	}
}

// command counts a command by its first byte.
func (t *talk) command(first byte) {
	switch first {
	case comQuit, comLongData, comClose: // these have no answer
		return
	case comQuery, comExecute:
		t.all.statements.Add(1)
	}
	if t.waiting.CompareAndSwap(false, true) { // otherwise the client sent it without waiting for the previous answer
		t.all.trips.Add(1)
	}
}

// answered records that a part of the answer has arrived at the client.
func (t *talk) answered() { t.waiting.Store(false) }
