package trail

import (
	"net/netip"
	"time"

	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/model/oid"
)

// The limits of noted events. Within window, at most maxNoted different events of a kind are
// recorded, and at most maxOfSource different events of one source. All other events are only
// counted.
const (
	window      = time.Minute
	maxNoted    = 256
	maxSignIns  = 4096 // replaces maxNoted for sign-ins, which have a valid credential
	maxOfSource = 16
)

// noteKey has what equal events have in common.
type noteKey struct {
	kind          Kind
	actor, member int64
	address       string
	asset         oid.OID
	detail        detailKey
}

// detailKey has the fields of Detail that can be set in noted events.
type detailKey struct {
	scheme, token, request, reason string
	dropped                        Kind
	various                        bool
}

// source is where events come from: a member, or a network if no member is authenticated.
type source struct {
	kind    Kind
	actor   int64
	network string
}

// note is an event, with the number of equal events that are not written yet.
type note struct {
	event       Event
	source      source
	counted     bool // true: the note counts for maxOfSource
	n           int
	first, last time.Time
	due         time.Time
}

// notes merges equal events. The first event is written at once. Later equal events are written
// once per window, as one row with their number. The caller must hold Log.mu.
type notes struct {
	all     map[noteKey]*note
	kinds   map[Kind]int
	sources map[source]int
}

func newNotes() *notes {
	return &notes{all: map[noteKey]*note{}, kinds: map[Kind]int{}, sources: map[source]int{}}
}

func keyOf(e *Event) noteKey {
	d := &e.Detail
	return noteKey{e.Kind, e.Actor, e.Member, e.Address, e.Asset, detailKey{d.Scheme, d.Token, d.Request, d.Reason, d.Dropped, d.Various}}
}

// add counts an event. It returns false if the event was dropped. Only the number of dropped
// events is stored.
func (f *notes) add(e Event, now time.Time) bool {
	e.Count = e.count()
	if f.count(&e, now) {
		return true
	}
	s := sourceOf(&e)
	counted := f.sources[s] < maxOfSource
	if !counted {
		e = e.ofSource(s)
		if f.count(&e, now) {
			return true
		}
	}
	if f.kinds[e.Kind] >= mostOf(e.Kind) {
		dropped := Event{Kind: Unrecorded, Count: e.Count, Address: Server, Detail: Detail{Dropped: e.Kind}}
		if !f.count(&dropped, now) {
			f.put(dropped, source{}, false, now)
		}
		return false
	}
	f.put(e, s, counted, now)
	return true
}

func mostOf(k Kind) int {
	if k == SignIn {
		return maxSignIns
	}
	return maxNoted
}

// count adds e to the note of an equal event. It returns false if there is no such note.
func (f *notes) count(e *Event, now time.Time) bool {
	n, ok := f.all[keyOf(e)]
	if !ok {
		return false
	}
	if n.n == 0 {
		n.first = now
	}
	n.n, n.last = n.n+e.Count, now
	return true
}

func (f *notes) put(e Event, s source, counted bool, now time.Time) {
	f.all[keyOf(&e)] = &note{event: e, source: s, counted: counted, n: e.Count, first: now, last: now, due: now}
	f.kinds[e.Kind]++
	if counted {
		f.sources[s]++
	}
}

func sourceOf(e *Event) source {
	if e.Actor != 0 {
		return source{kind: e.Kind, actor: e.Actor}
	}
	return source{kind: e.Kind, network: networkOf(e.Address)}
}

// networkOf returns the network of an address as text. Text that is not an address is returned
// unchanged.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return inbound.Network(ip)
}

// ofSource returns an event that represents various events of the source s. It has only the kind,
// the actor and the count of e, and the network of s.
func (e Event) ofSource(s source) Event {
	return Event{Kind: e.Kind, Actor: e.Actor, Address: s.network, Count: e.Count, Detail: Detail{Various: true}}
}

// take returns the events that are due to be written. It removes an event that has not
// occurred again since it was last written, one window ago. If end is true, all events are due.
func (f *notes) take(now time.Time, end bool) (due []*note) {
	for k, n := range f.all {
		if !end && now.Before(n.due) {
			continue
		}
		if n.n == 0 {
			f.remove(k, n)
			continue
		}
		taken := *n
		due = append(due, &taken)
		n.n, n.due = 0, now.Add(window)
	}
	return due
}

func (f *notes) remove(k noteKey, n *note) {
	delete(f.all, k)
	f.kinds[n.event.Kind]--
	if !n.counted {
		return
	}
	if f.sources[n.source]--; f.sources[n.source] == 0 {
		delete(f.sources, n.source)
	}
}
