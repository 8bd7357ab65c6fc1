package hiddentest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// await polls until an asynchronous request has ended in both services.
func (p *pair) await(poll *request) {
	p.t.Helper()
	p.both(func(_ int, s *service) error {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			r, err := s.send(poll.who, poll)
			if err != nil || r.status != http.StatusOK || !strings.Contains(r.body, `"processing":true`) {
				return err
			}
		}
		return fmt.Errorf("the request %s is never done", s.later)
	})
}

// mark stores a time that is after the last request and before the next one. Later requests ask for the
// state at this time.
func (p *pair) mark() {
	if p.g.marks == 10 {
		return
	}
	for _, s := range p.services {
		s.marks = append(s.marks, "")
	}
	time.Sleep(2 * time.Millisecond) // moments have times in milliseconds
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	time.Sleep(2 * time.Millisecond)
	for _, s := range p.services {
		s.marks[p.g.marks] = now
	}
	p.g.marks++
}

// explain describes the last request and its two different replies. If the request does not write, it first
// looks for a smaller request whose replies also differ.
func (p *pair) explain(r *request) string {
	p.t.Helper()
	replies := p.last
	for again := !r.writes; again; {
		again = false
		for _, less := range r.smaller() {
			if now, differ := p.differs(less); differ {
				r, replies, again = less, now, true
				break
			}
		}
	}
	first, second := nearDifference(replies[0].String(), replies[1].String())
	return fmt.Sprintf("%s\n\nfirst:  %s\n\nsecond: %s", r, first, second)
}

// margin is how many bytes of a reply are shown before and after the first difference.
const margin = 500

// nearDifference cuts two replies to the part around their first difference.
func nearDifference(a, b string) (string, string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	cut := func(s string) string {
		from, to := max(0, at-margin), min(len(s), at+margin)
		return pick(from > 0, "…", "") + s[from:to] + pick(to < len(s), "…", "")
	}
	return cut(a), cut(b)
}

// nothingHiddenIsWritten checks that the database has no caller as the author of a change to a hidden
// asset.
func (p *pair) nothingHiddenIsWritten() {
	p.t.Helper()
	var who, where []string
	for name := range callers {
		who = append(who, name)
	}
	for i, s := range p.services {
		where = where[:0]
		for _, label := range p.changer.hiders[i].byType["Scope"] {
			where = append(where, quote(s.oids[label]))
		}
		a := &ask{From: "BaseAsset", Select: []any{"Name", "ChangedBy.Name"}, AsOf: "All", Filter: []string{
			"SecurityScope=" + strings.Join(where, ","), "ChangedBy.Name='" + strings.Join(who, "','") + "'",
		}}
		r, err := s.send("admin", &request{method: "POST", path: "/query.v1", asks: []*ask{a}})
		if err != nil || r.body != "[[]]" {
			p.t.Errorf("hidden assets that callers have written: %v %s", err, r.body)
		}
	}
}

// auditTellsNothingHidden checks that the audit does not show hidden projects to a Project Admin. The ids
// in the audit are random, so the replies of the two services cannot be compared.
func (p *pair) auditTellsNothingHidden() {
	p.t.Helper()
	for i, s := range p.services {
		r, err := s.send("pam", &request{method: "GET", path: "/api/audit?page=1000"})
		if err != nil || r.status != http.StatusOK || !strings.Contains(r.body, s.oids["mine"]) {
			p.t.Errorf("the audit: %v %s", err, r.body)
		}
		for _, label := range p.changer.hiders[i].byType["Scope"] {
			if strings.Contains(r.body, strconv.Quote(s.oids[label])) {
				p.t.Errorf("the audit tells of %s: %s", label, r.body)
			}
		}
	}
}
