package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/alds-dev/alds/bench/rig"
)

// sort is a sort of request.
type sort struct {
	name     string
	share    int    // of 100 requests
	status   int    // of the right answer
	holds    string // text in the right answer
	make     func(w *world, p person) []byte
	password bool // uses a password instead of a token
	fresh    bool // each request is from another member, who has not logged in yet
}

// mix is a realistic mix of requests: seven of ten read, two write, one uses a password. Seven
// of ten such passwords were already verified, as with a program that sends its password with
// every request. Two of ten are the first login of a member, which costs a hash. One is wrong.
var mix = []sort{
	{name: "page of 50, filtered and sorted", share: 35, status: http.StatusOK, holds: `"_oid"`, make: page},
	{name: "one asset by path", share: 25, status: http.StatusOK, holds: `"_type":"Asset"`, make: point},
	{name: "count", share: 10, status: http.StatusOK, holds: `"Workitems:Story.@Count"`, make: count},
	{name: "create", share: 10, status: http.StatusOK, holds: `"Story:`, make: create},
	{name: "update", share: 10, status: http.StatusOK, holds: `"Story:`, make: update},
	{name: "password known", share: 7, status: http.StatusOK, holds: `"_type":"Asset"`, password: true, make: known},
	{name: "first login", share: 2, status: http.StatusOK, holds: `"_type":"Asset"`, password: true, make: known, fresh: true},
	{name: "wrong password", share: 1, status: http.StatusUnauthorized, password: true, make: wrong, fresh: true},
}

// isRight reports whether an answer is the right one.
func (s *sort) isRight(status int, body []byte) bool {
	return status == s.status && bytes.Contains(body, []byte(s.holds))
}

func page(w *world, p person) []byte {
	return rig.Post("/alds/query.v1", p.token, fmt.Sprintf(
		`{"from":"Story","select":["Name","Number","Estimate","Scope.Name","Owners.Name"],"where":{"Scope":"%s"},"filter":["Estimate>'%d'"],"sort":["Order"],"page":{"start":0,"size":50}}`,
		w.scopes[p.project], rand.N(6)))
}

func story(w *world, p person) string {
	of := w.stories[p.project]
	return of[rand.N(len(of))]
}

func pathOf(w *world, p person) string {
	return "/alds/rest-1.v1/Data/Story/" + story(w, p)[len("Story:"):] + "?sel=Name,Number,Estimate,Scope.Name,Owners"
}

func point(w *world, p person) []byte { return rig.Get(pathOf(w, p), p.token) }

func count(w *world, p person) []byte {
	return rig.Post("/alds/query.v1", p.token, `{"from":"`+w.scopes[p.project]+`","select":["Workitems:Story.@Count"]}`)
}

func create(w *world, p person) []byte {
	return rig.Post("/alds/api/asset", p.token, fmt.Sprintf(
		`{"AssetType":"Story","Name":"Story of %s","Scope":"%s","Estimate":%d,"Owners":["%s"]}`, p.username, w.scopes[p.project], rand.N(13), p.oid))
}

func update(w *world, p person) []byte {
	return rig.Post("/alds/api/asset", p.token, fmt.Sprintf(
		`{"from":"%s","update":{"Estimate":%d,"Name":"Story %d again"}}`, story(w, p), rand.N(13), rand.N(1_000_000)))
}

func known(w *world, p person) []byte { return rig.GetAs(pathOf(w, p), p.username, password) }

func wrong(w *world, p person) []byte {
	return rig.GetAs(pathOf(w, p), p.username, "not "+strconv.Itoa(rand.N(1_000_000)))
}

// requests has requests that are built in advance, so that building them takes no processor
// time from the measurement.
type requests struct {
	made  [][][]byte // by sort
	next  []atomic.Int64
	picks []int // index of the sort, for each of 100 requests
}

// variants is the number of different requests of a sort whose members may repeat.
const variants = 4_000

func newRequests(w *world) *requests {
	r := &requests{made: make([][][]byte, len(mix)), next: make([]atomic.Int64, len(mix))}
	for i := range mix {
		s := &mix[i]
		n := variants
		if s.fresh {
			n = len(w.logins)
		}
		for k := range n {
			p := w.people[rand.N(len(w.people))]
			if s.fresh {
				p = w.logins[k]
			}
			r.made[i] = append(r.made[i], s.make(w, p))
		}
		for range s.share {
			r.picks = append(r.picks, i)
		}
	}
	return r
}

// pick returns a request of a random sort. It goes through the requests of a sort in order, so
// that the same member logs in again as late as possible.
func (r *requests) pick() (of int, request []byte) {
	of = r.picks[rand.N(len(r.picks))]
	n := int(r.next[of].Add(1))
	return of, r.made[of][n%len(r.made[of])]
}
