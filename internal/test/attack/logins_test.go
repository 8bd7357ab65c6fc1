package attack

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// cheapest is a request that costs little beside its login.
const cheapest = `{"from":"Scope","select":["Name"]}`

// TestLoginFlood tries names that nobody has, and passwords for one name, from
// the address that the members come from too, as behind a proxy that is not
// named. Nobody is locked out: members log in for the first time, and the owner
// of the name as well. Issue: lock-out.
func TestLoginFlood(t *testing.T) {
	onEach(t, setup{}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		var people []any
		for i := range 15 {
			people = append(people, person(fmt.Sprintf("member%d", i)))
		}
		people = append(people, person("owner"))
		s.post("/api/asset", people)
		near, far := from("127.0.0.1"), from(attacker)
		stop := make(chan struct{})
		var flood sync.WaitGroup
		var seen tally
		for i := range 60 {
			flood.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					c, who := near, fmt.Sprintf("nobody-%d-%d:x", i, n)
					if i%3 == 0 {
						c, who = far, fmt.Sprintf("owner:wrong-%d-%d", i, n)
					}
					status, _, _ := s.ask(t.Context(), c, who, http.MethodPost, "/query.v1", []byte(cheapest))
					seen.add(status)
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		o.during(t, 256*mib, func() {
			time.Sleep(time.Second)
			for i := range 15 {
				s.mustLogIn(t, near, fmt.Sprintf("member%d", i))
			}
			s.mustLogIn(t, near, "owner")
			s.mustLogIn(t, near, "owner") // whose password is known by now
		})
		close(stop)
		flood.Wait()
		near.CloseIdleConnections()
		far.CloseIdleConnections()
		seen.only(t, 401, 429, 503) // 503: a wrong password waits for longer than a request may last here
	})
}

// mustLogIn logs in for the first time while others flood.
func (s *site) mustLogIn(t *testing.T, c *http.Client, name string) {
	t.Helper()
	began := time.Now()
	status, answer, err := s.ask(t.Context(), c, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(cheapest))
	if took := time.Since(began); err != nil || status != http.StatusOK || took > 8*time.Second {
		t.Errorf("%s: %d after %s: %.200s %v", name, status, took, answer, err)
	}
}
