package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/alds-dev/alds/bench/rig"
)

// product is what a side is, in its own interface. It is running and holds the data.
type product interface {
	name() string
	addr() string

	// ids are those of the stories of the data, in their order.
	ids() []string

	// lacks reports that the product has no request of a kind.
	lacks(k kind) bool

	// ask is the request of a question, and read what its answer says.
	ask(q question) []byte
	read(q question, body []byte) (answer, error)

	// create is the request that makes stories, one alone or many at once, and created
	// returns the ids in its answer, in the order of the stories.
	create(stories []story) []byte
	created(body []byte, n int) ([]string, error)

	// file is the request that imports stories, and taken fails where the answer says
	// that not all were.
	file(stories []story) []byte
	taken(body []byte, n int) error

	// change is the request that gives a story an estimate, and changed fails where the
	// answer does not say so.
	change(id string, estimate int) []byte
	changed(body []byte, id string, estimate int) error

	// restart ends the processes and starts them again on the same data, of which the
	// planner of the database knows the shape from then on.
	restart(ctx context.Context) error
	close() error
}

// side is a product with what is known of it.
type side struct {
	product
	data *data

	questions []question   // of the work that is measured
	next      atomic.Int64 // numbers of stories to be made
	turns     atomic.Int64 // of updates

	mu       sync.Mutex
	right    map[question][]byte // answers that were read and found right
	made     map[string]int      // numbers of the stories made, by id
	imported int                 // how many more were imported
	set      map[string]int      // estimates that were changed, by id
}

func newSide(p product, d *data) *side {
	return &side{product: p, data: d, right: map[question][]byte{}, made: map[string]int{}, set: map[string]int{}}
}

// check compares an answer with the data. One of the same bytes as an answer that was
// right is right.
func (s *side) check(q question, body []byte) error {
	s.mu.Lock()
	known := s.right[q]
	s.mu.Unlock()
	if known != nil && bytes.Equal(known, body) {
		return nil
	}
	got, err := s.read(q, body)
	if err == nil {
		err = got.differs(s.data.expected(q, s.ids()))
	}
	if err != nil {
		return fmt.Errorf("%+v: %w in %.600s", q, err, body)
	}
	s.mu.Lock()
	s.right[q] = bytes.Clone(body)
	s.mu.Unlock()
	return nil
}

// sample is how many of the stories that were written are read again.
const sample = 20

// settled reads back what was written: how many stories there are now, and some of
// them.
func (s *side) settled() error {
	c, err := rig.Dial(s.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	got, err := s.answer(c, question{kind: count, project: s.data.inbox()})
	if err != nil {
		return err
	}
	if want := len(s.made) + s.imported; got.count != want {
		return fmt.Errorf("%d stories were made, and %d are there", want, got.count)
	}
	left := sample
	for id, n := range s.made {
		if left--; left < 0 {
			break
		}
		if err := s.holds(c, id, s.data.made(n)); err != nil {
			return err
		}
	}
	left = sample
	for id, estimate := range s.set {
		if left--; left < 0 {
			break
		}
		want := s.data.stories[slices.Index(s.ids(), id)]
		want.estimate = estimate
		if err := s.holds(c, id, want); err != nil {
			return err
		}
	}
	return nil
}

// holds fails where a side does not show a story as it should be.
func (s *side) holds(c *rig.Conn, id string, want story) error {
	got, err := s.answer(c, question{kind: point, id: id})
	if err != nil {
		return err
	}
	return got.differs(answer{rows: []row{s.data.row(id, want)}})
}

func (s *side) answer(c *rig.Conn, q question) (answer, error) {
	body, err := c.Ask(s.ask(q))
	if err != nil {
		return answer{}, err
	}
	return s.read(q, body)
}

// request is the next request of a work, and what checks its answer. k is the client,
// n its turn.
func (s *side) request(w work, k, n int) ([]byte, func([]byte) error) {
	switch w.kind {
	case create, bulk:
		first := int(s.next.Add(int64(w.stories))) - w.stories
		return s.create(s.data.many(first, w.stories)), func(body []byte) error { return s.wasMade(first, w.stories, body) }
	case imports:
		first := int(s.next.Add(int64(w.stories))) - w.stories
		return s.file(s.data.many(first, w.stories)), func(body []byte) error { return s.wasTaken(w.stories, body) }
	case update:
		turn := int(s.turns.Add(1))
		id, estimate := s.ids()[turn*7919%len(s.ids())], 1+turn%89
		return s.change(id, estimate), func(body []byte) error { return s.wasSet(id, estimate, body) }
	}
	q := s.questions[(k*31+n)%len(s.questions)]
	return s.ask(q), func(body []byte) error { return s.check(q, body) }
}

func (s *side) wasMade(first, n int, body []byte) error {
	ids, err := s.created(body, n)
	if err != nil {
		return fmt.Errorf("%w in %.600s", err, body)
	}
	if len(ids) != n {
		return fmt.Errorf("%d ids for %d stories in %.600s", len(ids), n, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, id := range ids {
		if _, twice := s.made[id]; twice || id == "" {
			return fmt.Errorf("the id %q was given before", id)
		}
		s.made[id] = first + i
	}
	return nil
}

func (s *side) wasTaken(n int, body []byte) error {
	if err := s.taken(body, n); err != nil {
		return fmt.Errorf("%w in %.600s", err, body)
	}
	s.mu.Lock()
	s.imported += n
	s.mu.Unlock()
	return nil
}

func (s *side) wasSet(id string, estimate int, body []byte) error {
	if err := s.changed(body, id, estimate); err != nil {
		return fmt.Errorf("%w in %.600s", err, body)
	}
	s.mu.Lock()
	s.set[id] = estimate
	s.mu.Unlock()
	return nil
}

// number reads a number that JSON has as a number or a text.
func number(text []byte) (float64, error) {
	text = bytes.Trim(text, `"`)
	if len(text) == 0 || string(text) == "null" {
		return 0, nil
	}
	return strconv.ParseFloat(string(text), 64)
}
