package asset

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Bounds for requests, because a short request may read and change a lot. A request that exceeds
// a bound ends and writes nothing. Only maxHeld is different: if a batch exceeds it, the batch is
// split.
const (
	MaxWritten      = 128 << 20 // bytes of text in the versions that a request writes
	maxHeld         = 64 << 20  // bytes of text that a batch of several commands holds in memory
	maxHeldOfOne    = 128 << 20 // bytes of text that a batch of one command holds in memory
	maxReadByAsset  = 4         // assets that a request may read in full, for each asset that it may change
	MaxEdgesByAsset = 4         // links and values that a request may begin or end, for each asset that it may change
)

// ErrReach marks the errors of requests that exceed a bound. Such an error ends the whole
// request. Any other error of the kind fault.Invalid makes only a command fail.
var ErrReach = errors.New("the request exceeds a bound")

func reachesTooFar(format string, most int) error {
	return &fault.Error{Kind: fault.Invalid, Msg: fmt.Sprintf(format, most), At: fault.NoPlace, Err: ErrReach}
}

// TooManyAssets returns the error for a request that changes more assets than the limit most.
func TooManyAssets(most int) error {
	return reachesTooFar("The request touches more than %d assets.", most)
}

func tooManyRead(most int) error {
	return reachesTooFar("The request reads more than %d assets to change others.", most)
}

// TooManyEdges returns the error for a request that adds and removes more values of relations
// than the limit most.
func TooManyEdges(most int) error {
	return reachesTooFar("The request adds and removes more than %d values of relations.", most)
}

// TooManyQueries returns the error for a request with more queries in the place of values than the
// limit most. A query counts for each asset for which it is executed.
func TooManyQueries(most int) error {
	return reachesTooFar("The request executes more than %d queries in the place of values.", most)
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

// reach contains counts of the changes of a request, or of a batch, so far.
type reach struct {
	beside int   // changed assets, not counting the asset that each command names
	edges  int   // links and values that began or ended
	bytes  int64 // bytes of text in versions
}

func (r reach) plus(o reach) reach {
	return reach{r.beside + o.beside, r.edges + o.edges, r.bytes + o.bytes}
}

// reached returns the counts of the changes of the batch, including the current command.
func (c *changes) reached() reach {
	return reach{c.beside + max(len(c.touched)-1, 0), len(c.edges), c.bytes}
}

// proceed returns an error if the request must not continue. Every loop whose length depends
// on the client or on stored data calls it.
// Errors: fault.Invalid with ErrReach if the request exceeds a bound; fault.Transient if ctx
// has ended; errSplit if the batch must be split.
func (u unit) proceed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return sqlerror.Fault(err)
	}
	if err := u.s.effectBounds(); err != nil {
		return err
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

// affectTooMany reports whether the commands that share the current Affected have changed more
// assets than it allows.
func (c *changes) affectTooMany() bool {
	return c.counts != nil && len(c.counts.written)+len(c.affected[c.counts]) > c.counts.Most
}

// mayReach returns an error if a number of dependents or parts is greater than MaxAssets. It is
// called before these assets are read.
// Errors: fault.Invalid with ErrReach; errSplit if the batch can be split.
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
