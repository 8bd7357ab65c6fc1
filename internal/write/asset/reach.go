package asset

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// What a request may make larger than it was sent. Exceeding one ends the request, and
// nothing of it is written.
const (
	MaxWritten      = 128 << 20 // bytes of the texts of all versions that it writes
	maxHeld         = 64 << 20  // bytes of texts that commands together hold before they are written; more are written in parts
	maxHeldOfOne    = 128 << 20 // of one command
	maxReadByAsset  = 4         // assets that are read with all their values, for each that a request may change
	MaxEdgesByAsset = 4         // values of relations that begin and end, for each asset that a request may change
)

// ErrReach marks the errors of requests that reach too far. They end a request, where others
// of their kind end a command.
var ErrReach = errors.New("the request reaches too far")

func reachesTooFar(format string, most int) error {
	return &fault.Error{Kind: fault.Invalid, Msg: fmt.Sprintf(format, most), At: fault.NoPlace, Err: ErrReach}
}

// TooManyAssets ends a request that changes more assets than one may.
func TooManyAssets(most int) error {
	return reachesTooFar("The request touches more than %d assets.", most)
}

func tooManyRead(most int) error {
	return reachesTooFar("The request reads more than %d assets to change others.", most)
}

// TooManyEdges ends a request that adds and removes more values of relations than one may.
func TooManyEdges(most int) error {
	return reachesTooFar("The request adds and removes more than %d values of relations.", most)
}

func tooMuchText(most int) error {
	return reachesTooFar("The request writes more than %d bytes of texts.", most)
}

func tooMuchHeld() error {
	return reachesTooFar("A command reads and writes more than %d bytes of texts.", maxHeldOfOne)
}

func affectsTooMany(most int) error {
	return reachesTooFar("The command affects more assets than maxAffected: %d.", most)
}

// reach is what a request has changed so far.
type reach struct {
	beside int   // assets beside those that its commands name
	edges  int   // links and values that began or ended
	bytes  int64 // of the texts of versions
}

func (r reach) plus(o reach) reach {
	return reach{r.beside + o.beside, r.edges + o.edges, r.bytes + o.bytes}
}

// reached is what the batch has changed, the current command included.
func (c *changes) reached() reach {
	return reach{c.beside + max(len(c.touched)-1, 0), len(c.edges), c.bytes}
}

// proceed is asked in every loop whose length the client, or what is stored, decides. It
// refuses a request that reaches too far, and ends one whose time is over.
// Errors: fault.Invalid with ErrReach; fault.Transient; errSplit.
func (u unit) proceed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return db.Fault(err)
	}
	most, all := u.s.e.MaxAssets, u.s.reached.plus(u.changes.reached())
	held := u.loaded.bytes + u.changes.bytes
	switch {
	case u.changes.affectTooMany():
		return affectsTooMany(u.changes.counts.Most)
	case most > 0 && all.beside > 0 && u.s.named+all.beside > most:
		return TooManyAssets(most)
	case most > 0 && all.edges > MaxEdgesByAsset*most:
		return TooManyEdges(MaxEdgesByAsset * most)
	case all.bytes > int64(u.s.e.MaxWritten):
		return tooMuchText(u.s.e.MaxWritten)
	case u.loaded.several && held > maxHeld:
		return errSplit
	case held > maxHeldOfOne:
		return tooMuchHeld()
	}
	return nil
}

// affectTooMany reports whether the current command, and those that count with it, have
// changed more assets than they may.
func (c *changes) affectTooMany() bool {
	return c.counts != nil && len(c.counts.written)+len(c.affected[c.counts]) > c.counts.Most
}

// mayReach refuses so many assets that follow from a command, before they are read.
// Errors: fault.Invalid with ErrReach; errSplit.
func (l *loaded) mayReach(assets int) error {
	switch most := l.s.e.MaxAssets; {
	case most == 0 || assets <= most:
		return nil
	case l.several:
		return errSplit
	default:
		return TooManyAssets(most)
	}
}

// textSize returns how many bytes the texts of a state have.
func (s *state) textSize() int64 {
	n := 0
	for _, v := range s.slots {
		if text, ok := v.(string); ok {
			n += len(text)
		}
	}
	for _, x := range s.attrs {
		n += len(x.json)
	}
	return int64(n)
}
