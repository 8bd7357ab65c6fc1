package main

import "sync/atomic"

// Commands of a client of MySQL and MariaDB.
const (
	comQuit     = 0x01
	comQuery    = 0x03
	comExecute  = 0x17 // of a prepared statement
	comLongData = 0x18
	comClose    = 0x19 // of a prepared statement
)

// tally is what was sent to the database.
type tally struct {
	statements int64 // executed, begin and commit among them
	trips      int64 // times that a client sent something and waited for the answer
}

func (t tally) minus(u tally) tally { return tally{t.statements - u.statements, t.trips - u.trips} }

// counts is a tally of all connections.
type counts struct{ statements, trips atomic.Int64 }

func (c *counts) now() tally { return tally{c.statements.Load(), c.trips.Load()} }

// talk counts the commands of one connection, whose client sends packets: three bytes
// of length, the lowest first, the packet's number in its command, and so many bytes.
type talk struct {
	all     *counts
	waiting atomic.Bool // the client has asked, and nothing of the answer has arrived

	// These are of who reads from the client.
	head  [4]byte
	has   int  // bytes of the head
	left  int  // bytes of the packet that are to come
	first bool // the next byte is the first of a command
}

func newTalk(all *counts) *talk { return &talk{all: all} }

// asked takes what the client has sent, cut anywhere.
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
	case comQuit, comLongData, comClose: // nobody answers these
		return
	case comQuery, comExecute:
		t.all.statements.Add(1)
	}
	if t.waiting.CompareAndSwap(false, true) { // else it was sent behind another, without waiting
		t.all.trips.Add(1)
	}
}

// answered notes that some of the answer arrives at the client.
func (t *talk) answered() { t.waiting.Store(false) }
