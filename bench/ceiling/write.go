package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// kind is a kind of write.
type kind struct {
	name    string
	request func(w *world, token string, n int) []byte
}

var (
	creates = &kind{"create", create}
	updates = &kind{"update", update}
)

// kinds has the writes that a client sends in turn, by the value of -work.
var kinds = map[string][]*kind{"create": {creates}, "update": {updates}, "mix": {creates, updates}}

// description has about 600 bytes.
var description = string(bytes.Repeat([]byte("As a member of a team I want to see what was changed since yesterday, and by whom, so that I can go on. "), 6))

func name(n int) string { return "Story " + strconv.Itoa(n) + " of the backlog" }

// create returns a request that creates a story in a random project.
func create(w *world, token string, n int) []byte {
	return rig.Post("/alds/rest-1.v1/Data/Story", token, fmt.Sprintf(
		`{"Attributes":{"Name":{"value":"%s","act":"set"},"Scope":{"value":"%s","act":"set"},"Estimate":{"value":%d,"act":"set"},"Description":{"value":"%s","act":"set"}}}`,
		name(n), w.scopes[rand.N(len(w.scopes))], n%13, description))
}

// update returns a request that sets the estimate of a random story to a random number, so it
// almost always changes.
func update(w *world, token string, _ int) []byte {
	return rig.Post("/alds/rest-1.v1/Data/Story/"+strconv.FormatInt(w.stories[rand.N(len(w.stories))], 10), token,
		fmt.Sprintf(`{"Attributes":{"Estimate":{"value":%d,"act":"set"}}}`, rand.N(1_000_000)))
}

// written is one answered write.
type written struct {
	at   time.Time // of the answer
	took time.Duration
	ok   bool
}

// client is a client that writes.
type client struct {
	conn  *rig.Conn
	token string
	n     int // of its next write; starts at another number for each client
}

// newClients spreads n clients over the addresses.
func newClients(addrs []string, w *world, n int) (all []*client, err error) {
	for i := range n {
		c, err := rig.Dial(addrs[i%len(addrs)])
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, &client{conn: c, token: w.tokens[i], n: i})
	}
	return all, nil
}

func closeAll(all []*client) {
	for _, c := range all {
		_ = c.conn.Close()
	}
}

// write sends one write and waits for the answer.
func (c *client) write(w *world, k *kind) (written, error) {
	request := k.request(w, c.token, c.n)
	c.n++
	began := time.Now()
	status, body, err := c.conn.Do(request)
	at := time.Now()
	if err != nil {
		return written{}, fmt.Errorf("%s: %w", k.name, err)
	}
	ok := status == http.StatusOK
	if !ok && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests && status != http.StatusConflict {
		return written{}, fmt.Errorf("%s answered %d: %.300s", k.name, status, body)
	}
	return written{at, at.Sub(began), ok}, nil
}

// crowd lets all clients write until a point in time and returns their writes.
func crowd(ctx context.Context, all []*client, w *world, of []*kind, until time.Time) ([]written, error) {
	each := make([][]written, len(all))
	errs := make(chan error, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil {
				one, err := c.write(w, of[c.n%len(of)])
				if err != nil {
					errs <- err
					return
				}
				each[i] = append(each[i], one)
			}
		})
	}
	group.Wait()
	var sum []written
	for _, some := range each {
		sum = append(sum, some...)
	}
	select {
	case err := <-errs:
		return nil, err
	default:
		return sum, ctx.Err()
	}
}
