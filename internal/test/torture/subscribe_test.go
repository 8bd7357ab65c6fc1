package torture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

// book is a webhook receiver. For each subscription, it stores the changes of Reference that were
// delivered.
type book struct {
	url string

	mu   sync.Mutex
	told map[string]map[written]bool // by URL path, which differs for each subscription
}

// written is a change: a story and its new Reference.
type written struct{ story, reference string }

func newBook(s *site) *book {
	b := &book{told: map[string]map[written]bool{}}
	server := httptest.NewServer(b)
	s.t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// ServeHTTP stores the changes of a delivery.
func (b *book) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Events []struct {
			Snapshot []struct {
				OID string `json:"_oid"`
			} `json:"snapshot"`
			Changes []struct {
				Name string          `json:"name"`
				New  json.RawMessage `json:"new"`
			} `json:"changes"`
		} `json:"events"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[req.URL.Path] == nil {
		b.told[req.URL.Path] = map[written]bool{}
	}
	for _, e := range body.Events {
		for _, c := range e.Changes {
			var value string
			if c.Name == "Reference" && len(e.Snapshot) > 0 && json.Unmarshal(c.New, &value) == nil {
				b.told[req.URL.Path][written{e.Snapshot[0].OID, value}] = true
			}
		}
	}
}

// listing is what a query returned after a subscription was created. path is the URL path of the
// subscription.
type listing struct {
	path string
	has  map[string]string // Reference by story
}

// subscribeAndList creates or enables a subscription, and then reads a listing. Meanwhile, stories are
// created and changed through both apis. Each change must be in the listing or be delivered.
func subscribeAndList(s *site) {
	b, project := newBook(s), s.projects(1)[0]
	off := s.subscribe(b.url+"/enabled", project, false)
	s.settle()
	stop := make(chan struct{})
	var wait sync.WaitGroup
	all := make([][]written, 2*apis)
	for w := range all {
		wait.Go(func() { all[w] = s.writeStories(w, project, stop) })
	}
	var listings []listing
	rounds(200, func(k int) {
		i := (k + 1) % apis // the first new subscription is created through the second api
		path := fmt.Sprint("/", k)
		if k == 1 {
			path = "/enabled"
			s.mustEnable(i, off)
		} else {
			s.subscribe(b.url+path, project, true, i)
		}
		listings = append(listings, listing{path, s.list(i, project)})
	})
	close(stop)
	wait.Wait()
	s.settle()
	s.judgeListings(b, listings, all)
}

func (s *site) subscribe(url, project string, enabled bool, at ...int) (id string) {
	s.t.Helper()
	definition := func(kind string) object {
		return object{"type": kind, "from": "Story", "filter": []string{"Scope='" + project + "'"}}
	}
	i := 0
	if len(at) > 0 {
		i = at[0]
	}
	a := s.patiently(i, "/api/webhook", object{
		"url": url, "enabled": enabled, "eventTypes": []any{definition("AssetCreated"), definition("AssetChanged")},
	})
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(a.text, &made); a.status != http.StatusOK || err != nil {
		s.t.Fatalf("subscribe: %d: %.400s", a.status, a.text)
	}
	return made.ID
}

func (s *site) mustEnable(i int, id string) {
	s.t.Helper()
	if a := s.patiently(i, "/api/webhook/"+id, object{"enabled": true}); a.status != http.StatusOK {
		s.t.Fatalf("enable: %d: %.400s", a.status, a.text)
	}
}

func (s *site) list(i int, project string) map[string]string {
	s.t.Helper()
	has := map[string]string{}
	type row struct {
		OID       string `json:"_oid"`
		Reference string
	}
	for _, r := range read[row](s, i, object{"from": "Story", "where": object{"Scope": project}, "select": []string{"Reference"}}) {
		has[r.OID] = r.Reference
	}
	return has
}

// writeStories creates and changes stories until stop is closed, and returns its writes. Each Reference
// ends in a number with a fixed number of digits that grows with every write. So references sort in the
// order of the writes.
func (s *site) writeStories(w int, project string, stop chan struct{}) (all []written) {
	own := ""
	for n := 0; ; n++ {
		select {
		case <-stop:
			return all
		default:
		}
		reference := fmt.Sprintf("%d-%06d", w, n)
		command := change(own, object{"Reference": reference})
		if n%4 == 0 {
			command = object{"AssetType": "Story", "Name": "Story", "Scope": project, "Reference": reference}
		}
		a := s.send(w%apis, "/api/asset", "", command)
		switch {
		case !a.done() && n%4 == 0:
			n += 3 // the create failed, so there is no story to change
		case !a.done():
		default:
			if n%4 == 0 {
				own = a.bulk.AssetsCreated.OIDTokens[0]
			}
			all = append(all, written{own, reference})
		}
	}
}

func (s *site) judgeListings(b *book, listings []listing, all [][]written) {
	s.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	changes, lost, wrong, told := 0, 0, 0, 0
	for _, l := range listings {
		before := lost
		told += len(b.told[l.path])
		for _, of := range all {
			for _, c := range of {
				if changes++; l.has[c.story] < c.reference && !b.told[l.path][c] {
					lost++
				}
			}
		}
		if lost > before {
			wrong++
		}
	}
	written := changes / max(1, len(listings))
	s.t.Logf("%d subscriptions during %d changes, %d events: %d of the subscriptions miss changes, %d in all", len(listings), written, told, wrong, lost)
	s.wrong(lost, "changes are neither in the listing nor delivered, to %d of %d subscriptions", wrong, len(listings))
	if told == 0 || written == 0 {
		s.t.Error("nothing was written or delivered")
	}
}
