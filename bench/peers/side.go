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

// product is a running service that stores the data: alds or a peer.
type product interface {
	name() string
	addr() string

	// ids returns the ids of the stories of the data, in their order.
	ids() []string

	// lacks reports whether the product has no request of this kind.
	lacks(k kind) bool

	// ask returns the request for a question. read decodes the answer to this request.
	ask(q question) []byte
	read(q question, body []byte) (answer, error)

	// create returns a request that creates one or many stories. created returns the ids in
	// the answer to this request, in the order of the stories.
	create(stories []story) []byte
	created(body []byte, n int) ([]string, error)

	// file returns a request that imports stories. taken returns an error if the answer
	// reports that some stories were not imported.
	file(stories []story) []byte
	taken(body []byte, n int) error

	// change returns a request that sets the estimate of a story. changed returns an error if
	// the answer does not confirm this change.
	change(id string, estimate int) []byte
	changed(body []byte, id string, estimate int) error

	// restart updates the planner statistics of the database and restarts the processes on the
	// same data.
	restart(ctx context.Context) error
	close() error
}

// side is a product with the state of the bench.
type side struct {
	product
	data *data

	questions []question   // the reads of the current row of the table
	next      atomic.Int64 // number of the next story to create
	turns     atomic.Int64 // number of updates

	mu       sync.Mutex
	right    map[question][]byte // answers that were checked and are right
	made     map[string]int      // key: id of a created story; value: its n in data.made
	imported int                 // number of imported stories
	set      map[string]int      // key: id of an updated story; value: its new estimate
}

func newSide(p product, d *data) *side {
	return &side{product: p, data: d, right: map[question][]byte{}, made: map[string]int{}, set: map[string]int{}}
}

// check returns an error if an answer differs from the data. An answer with the same bytes as an
// earlier right answer to the same question is right.
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

// sample limits the written stories that are read back.
const sample = 20

// settled checks the written stories: their number, and the values of some of them.
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

// holds returns an error if the side does not return the story with its values.
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

// request returns the next request of a row and a function that checks the answer. k is the number
// of the client, and n is the number of its earlier requests.
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

// number parses a JSON number, which may be a string. An empty value or null is 0.
func number(text []byte) (float64, error) {
	text = bytes.Trim(text, `"`)
	if len(text) == 0 || string(text) == "null" {
		return 0, nil
	}
	return strconv.ParseFloat(string(text), 64)
}
