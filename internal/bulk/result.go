package bulk

import (
	"fmt"
	"maps"
	"time"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/find"
	"github.com/alds-dev/alds/internal/oid"
)

// tokens is one of the three lists of the response.
type tokens struct {
	list  []byte // quoted Oids with commas between them
	count int
}

// result collects the response object while the request runs.
// Spec: interface 2.5.
type result struct {
	id      string
	began   time.Time
	cfg     config
	created tokens
	changed tokens
	ran     tokens

	failures []byte
	failed   int
	failedBy map[string]int // by verb, for the metrics
	rows     []byte
	queries  int
	beside   [][]byte // what each query asked beside its rows
}

func newResult(id string, began time.Time, cfg config) *result {
	return &result{id: id, began: began, cfg: cfg, failedBy: map[string]int{}}
}

// reset forgets what an attempt that was undone has collected.
func (r *result) reset() {
	for _, t := range []*tokens{&r.created, &r.changed, &r.ran} {
		t.list, t.count = t.list[:0], 0
	}
	r.failures, r.failed, r.rows, r.queries = r.failures[:0], 0, r.rows[:0], 0
	r.beside = nil
	clear(r.failedBy)
}

// undo leaves only the failures of an atomic request that was rolled back.
func (r *result) undo() {
	failures, failed, by := r.failures, r.failed, maps.Clone(r.failedBy)
	r.reset()
	r.failures, r.failed, r.failedBy = failures, failed, by
}

func (r *result) add(t *tokens, o oid.OID) {
	t.count++
	if r.cfg.countsOnly {
		return
	}
	if len(t.list) > 0 {
		t.list = append(t.list, ',')
	}
	t.list = append(t.list, '"')
	t.list = o.Append(t.list)
	t.list = append(t.list, '"')
}

// fail lists a step that failed: the projected command, and why.
//
//	{"@x": {...}, "error": {"message": "...", "sourceCommandIndex": 0}}
func (r *result) fail(s *step, err error) {
	b := r.failures
	if r.failed > 0 {
		b = append(b, ',')
	}
	r.failed++
	r.failedBy[s.kind.verb()]++
	b = key(append(b, '{'), s.label())
	b = appendStep(b, s)
	b = append(b, `,"error":{"message":`...)
	b = quote(b, fault.Public(err))
	b = append(b, `,"sourceCommandIndex":`...)
	b = appendInt(b, int64(s.index))
	if at := fault.Place(err); at >= 0 {
		b = append(b, `,"position":`...)
		b = appendInt(b, int64(at))
	}
	b = append(b, '}', '}')
	r.failures = b
}

// stamp is how instants are written: seven digits of a second, and Z.
const stamp = "2006-01-02T15:04:05.0000000Z"

// append writes the response object.
func (r *result) append(b []byte, now time.Time) []byte {
	took := max(now.Sub(r.began), 0)
	b = fmt.Appendf(b, `{"requestId":"%s","createdDate":"%s","completedDate":"%s","duration":"%s","durationSeconds":%s`,
		r.id, r.began.UTC().Format(stamp), now.UTC().Format(stamp), clock(took), seconds(took))
	b = append(b, `,"complete":true,"processing":false`...)
	b = r.appendTokens(b, "assetsCreated", r.created)
	b = r.appendTokens(b, "assetsModified", r.changed)
	b = r.appendTokens(b, "assetsOperatedOn", r.ran)
	b = append(append(b, `,"commandFailures":{"commands":[`...), r.failures...)
	b = appendInt(append(b, `],"count":`...), int64(r.failed))
	b = append(append(b, `},"queryResult":{"results":[`...), r.rows...)
	count := int64(r.queries)
	if count == 0 {
		count = -1
	}
	b = appendInt(append(b, `],"count":`...), count)
	if pages := find.Beside(r.beside); pages != nil {
		b = append(append(b, `,"pages":`...), pages...)
	}
	return append(b, '}', '}')
}

func (r *result) appendTokens(b []byte, name string, t tokens) []byte {
	b = append(key(b, name), '{')
	if !r.cfg.countsOnly {
		b = append(append(b, `"oidTokens":[`...), t.list...)
		b = append(b, `],`...)
	}
	b = appendInt(append(b, `"count":`...), int64(t.count))
	return append(b, '}')
}

// clock writes a duration as hh:mm:ss.fffffff.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d.%07d", s/3600, s/60%60, s%60, int64(d%time.Second)/100)
}

// seconds writes a duration in seconds, to the same hundred nanoseconds.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%07d", int64(d/time.Second), int64(d%time.Second)/100)
}
