package bulk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
)

// tokens is a list of Oids in the response.
type tokens struct {
	list  []byte // quoted Oids with commas between them
	count int
}

// result collects the response object while the request runs.
// Spec: interface 2.5.
type result struct {
	id        string
	began     time.Time
	cfg       config
	body      []byte // as sent; the positions of failures are positions in body
	maxShown  int    // maximum size of failures in bytes
	previewed bool   // true if the commands are executed for a preview
	stored    bool   // true if the answer is stored; it then shows no secrets
	created   tokens
	modified  tokens
	operated  tokens

	failures []byte
	failed   int
	places   []place
	denials  []denial // denied steps of a preview
	refused  refusals
	failedBy map[string]int // number of failed steps by verb, for the metrics
	isSecret func(attr string) bool
	rows     []byte
	queries  int
	infos    [][]byte // the info that Finder.Answer returned for each query
}

func newResult(id string, began time.Time, p payload, maxShown int) *result {
	return &result{
		id: id, began: began, cfg: p.cfg, body: p.Body, maxShown: p.maxShown(maxShown), failedBy: map[string]int{},
	}
}

// checkSize returns an error if the failures are too long for an answer. They may be long because
// a command that fails many times is listed each time. Errors: fault.Invalid.
func (r *result) checkSize() error {
	if len(r.failures) > r.maxShown {
		return showsTooMuch(r.maxShown)
	}
	return nil
}

// reset empties the result, for the next try of a transaction.
func (r *result) reset() {
	for _, t := range []*tokens{&r.created, &r.modified, &r.operated} {
		t.list, t.count = t.list[:0], 0
	}
	r.failures, r.failed, r.rows, r.queries = r.failures[:0], 0, r.rows[:0], 0
	r.places, r.denials, r.infos, r.refused = r.places[:0], nil, nil, refusals{}
	clear(r.failedBy)
}

// rollback removes everything except the failures. Engine.write calls it when an atomic request is
// rolled back.
func (r *result) rollback() {
	failures, failed, places, refused, by := r.failures, r.failed, r.places, r.refused, maps.Clone(r.failedBy)
	r.reset()
	r.failures, r.failed, r.places, r.refused, r.failedBy = failures, failed, places, refused, by
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

// fail lists a failed step with its error. Clients compare the whole error object. Therefore the
// position of the error is in the diagnostics, and not in the error object.
//
//	{"@x": {...}, "error": {"message": "...", "sourceCommandIndex": 0}}
func (r *result) fail(s *step, err error) {
	if r.previewed && fault.KindOf(err) == fault.Denied {
		r.denials = append(r.denials, denial{s, err})
	}
	r.refused.add(s, err)
	if s = shown(s); r.stored {
		s = withoutSecrets(s, r.isSecret)
	}
	b := r.failures
	if r.failed > 0 {
		b = append(b, ',')
	}
	r.failed++
	r.failedBy[s.kind.verb()]++
	b = key(append(b, '{'), s.label())
	b = appendStep(b, s)
	b = appendError(b, err, s.index)
	if at := fault.Place(err); at >= 0 {
		r.places = append(r.places, place{failure: r.failed - 1, at: at})
	}
	b = append(b, '}')
	r.failures = b
}

// stamp is the format of times in UTC, with seven decimals of a second.
const stamp = "2006-01-02T15:04:05.0000000Z"

// roomForRest is the usual size of a response without its lists, in bytes. With very many
// diagnostics or pages, a response is longer.
const roomForRest = 2 << 10

// append appends the response object. now is the time of completion.
func (r *result) append(b []byte, now time.Time) []byte {
	took := max(now.Sub(r.began), 0)
	lists := len(r.created.list) + len(r.modified.list) + len(r.operated.list) + len(r.failures) + len(r.rows)
	b = slices.Grow(b, roomForRest+lists)
	b = fmt.Appendf(b, `{"requestId":"%s","createdDate":"%s","completedDate":"%s","duration":"%s","durationSeconds":%s`,
		r.id, r.began.UTC().Format(stamp), now.UTC().Format(stamp), clock(took), seconds(took))
	b = append(b, `,"complete":true,"processing":false`...)
	b = r.appendTokens(b, "assetsCreated", r.created)
	b = r.appendTokens(b, "assetsModified", r.modified)
	b = r.appendTokens(b, "assetsOperatedOn", r.operated)
	b = memory.Append(append(b, `,"commandFailures":{"commands":[`...), r.failures)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(r.failed), 10)
	b = append(b, '}')
	b = r.appendDiagnostics(b)
	b = memory.Append(append(b, `,"queryResult":{"results":[`...), r.rows)
	count := int64(r.queries)
	if count == 0 {
		count = -1
	}
	b = strconv.AppendInt(append(b, `],"count":`...), count, 10)
	if pages := find.JoinResultInfo(r.infos); pages != nil {
		b = append(append(b, `,"pages":`...), pages...)
	}
	return append(b, '}', '}')
}

// place is the position of a failure in the body.
type place struct {
	failure int // index in commandFailures.commands
	at      int // byte offset
}

// appendDiagnostics appends the positions of the failures that have a position.
//
//	,"diagnostics":[{"failure":0,"position":34,"line":2,"column":11}]
func (r *result) appendDiagnostics(b []byte) []byte {
	if len(r.places) == 0 {
		return b
	}
	ascending := slices.Clone(r.places)
	slices.SortFunc(ascending, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	at := make([]int, len(ascending))
	for i, p := range ascending {
		at[i] = p.at
	}
	positions := make(map[int]document.Position, len(at))
	for i, s := range document.Positions(r.body, at) {
		positions[ascending[i].failure] = s
	}
	b = append(key(b, "diagnostics"), '[')
	for i, p := range r.places {
		if i > 0 {
			b = append(b, ',')
		}
		s := positions[p.failure]
		b = fmt.Appendf(b, `{"failure":%d,"position":%d,"line":%d,"column":%d}`, p.failure, p.at, s.Line, s.Column)
	}
	return append(b, ']')
}

func (r *result) appendTokens(b []byte, name string, t tokens) []byte {
	b = append(key(b, name), '{')
	if !r.cfg.countsOnly {
		b = append(append(b, `"oidTokens":[`...), t.list...)
		b = append(b, `],`...)
	}
	b = strconv.AppendInt(append(b, `"count":`...), int64(t.count), 10)
	return append(b, '}')
}

// clock returns a duration as hh:mm:ss.fffffff.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d.%07d", s/3600, s/60%60, s%60, int64(d%time.Second)/100)
}

// seconds returns a duration in seconds, with seven decimals.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%07d", int64(d/time.Second), int64(d%time.Second)/100)
}
