package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// The values of the column state of system_check.
const (
	never     = 0
	running   = 1
	done      = 2
	failed    = 3
	brokenOff = 4
)

var stateNames = []string{never: "never", running: "running", done: "done", failed: "failed", brokenOff: "broken off"}

// Limits of a check.
const (
	maxFindings = 1000             // number of findings that are stored
	maxError    = 1000             // maximum length of the stored error in characters
	leaseFor    = 20 * time.Second // the lease expires after this time without renewal
	tellEvery   = 2 * time.Second  // interval at which the progress is stored and the lease is renewed
	endLimit    = 5 * time.Second  // time limit for storing the result
)

// theCheck is the id of the only row of system_check.
const theCheck int64 = 1

// start is a check that Start has accepted in this process and that Run has to run.
type start struct {
	owner  string
	member int64
}

// State is the progress of a check, as clients read it.
type State struct {
	Type     string    `json:"_type"`
	State    string    `json:"state"`
	Began    *string   `json:"began"`
	Ended    *string   `json:"ended"`
	By       string    `json:"by,omitempty"`   // the member who started the check
	Step     string    `json:"step,omitempty"` // the step that runs
	Done     int       `json:"done"`           // number of steps that have ended
	Of       int       `json:"of"`             // number of steps
	Findings []Finding `json:"findings"`
	Error    string    `json:"error,omitempty"`
}

// Finding is one inconsistency in the database.
type Finding struct {
	Check string `json:"check"` // the step that found the inconsistency
	Table string `json:"table"`
	ID    int64  `json:"id"`   // id of the row; 0: the row has no id
	Text  string `json:"text"` // the problem, and what to do about it
}

// Start starts a check of the whole database. The error has the kind fault.Denied if the actor is
// not a system administrator, fault.Conflict while a check runs, and fault.Transient if an earlier
// check of this process has not ended yet.
func (s *Service) Start(ctx context.Context, who auth.Actor) (State, error) {
	if err := mayRead(who); err != nil {
		return State{}, err
	}
	c := start{owner: uuid.NewString(), member: who.Member}
	now := s.db.Dialect.NowMicros
	res, err := s.db.Exec(ctx, `UPDATE system_check SET state = ?, began = `+now+`, ended = 0, begun_by = ?,`+
		` step = '', done = 0, steps = ?, findings = NULL, error = '', owner = ?, lease = `+now+` + ?`+
		` WHERE id = ? AND (state <> ? OR lease <= `+now+`)`,
		running, c.member, check.Steps()+1, c.owner, leaseFor.Microseconds(), theCheck, running)
	if err != nil {
		return State{}, err
	}
	if n, err := res.RowsAffected(); err != nil {
		return State{}, err
	} else if n == 0 {
		return State{}, fault.Conflictf(nil, "A check is running already; GET api/system/check tells how far it is")
	}
	select {
	case s.starts <- c:
	default: // an earlier check of this process lost its lease and still runs
		s.end(ctx, c, brokenOff, nil, nil)
		return State{}, fault.Transientf(nil, "The previous check is still ending; try again")
	}
	return s.state(ctx)
}

// Check returns the progress of the last check. The error has the kind fault.Denied if the actor is
// not a system administrator.
func (s *Service) Check(ctx context.Context, who auth.Actor) (State, error) {
	if err := mayRead(who); err != nil {
		return State{}, err
	}
	return s.state(ctx)
}

func (s *Service) state(ctx context.Context) (State, error) {
	st := State{Type: "Check", Findings: []Finding{}}
	var state int
	var began, ended, by, until, now int64
	var findings *string
	err := s.db.QueryRow(ctx, `SELECT state, began, ended, begun_by, step, done, steps, findings, error, lease, `+
		s.db.Dialect.NowMicros+` FROM system_check WHERE id = ?`, theCheck).
		Scan(&state, &began, &ended, &by, &st.Step, &st.Done, &st.Of, &findings, &st.Error, &until, &now)
	if err != nil {
		return st, err
	}
	if state == running && until <= now {
		state, ended = brokenOff, until
	}
	if state < 0 || state >= len(stateNames) {
		return st, fmt.Errorf("the check has the unknown state %d", state)
	}
	st.State, st.Began, st.Ended = stateNames[state], orNone(began), orNone(ended)
	if by != 0 {
		st.By = fmt.Sprintf("Member:%d", by)
	}
	if findings != nil {
		err = json.Unmarshal([]byte(*findings), &st.Findings)
	}
	return st, err
}

// orNone returns a time in UTC microseconds as text, or nil for 0.
func orNone(micros int64) *string {
	if micros == 0 {
		return nil
	}
	at := instant(micros)
	return &at
}

// Run runs the checks that Start has accepted in this process, one at a time, until ctx ends. Then
// it stores that the running check and the waiting check were broken off. It always returns nil.
func (s *Service) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			select {
			case c := <-s.starts:
				s.end(ctx, c, brokenOff, nil, nil)
			default:
			}
			return nil
		case c := <-s.starts:
			s.carryOut(ctx, c)
		}
	}
}

// carryOut runs one check and stores its result.
func (s *Service) carryOut(ctx context.Context, c start) {
	within, lost := context.WithCancelCause(db.WithMember(ctx, c.member))
	defer lost(nil)
	steps := make(chan check.Step, 1) // contains only the latest step
	stored := make(chan struct{})
	go func() { defer close(stored); s.storeProgress(within, c, steps, lost) }()
	found, err := s.guarded(within, func(at check.Step) {
		select {
		case <-steps:
		default:
		}
		steps <- at
	})
	close(steps)
	<-stored
	switch {
	case errors.Is(context.Cause(within), lease.ErrLost):
		s.o.Log.Warn("the check was stopped: its lease expired, and another check was started")
	case ctx.Err() != nil:
		s.end(ctx, c, brokenOff, found, nil)
	case err != nil:
		s.o.Log.Error("check failed", "err", err)
		s.end(ctx, c, failed, found, err)
	default:
		s.o.Log.Info("check ended", "findings", len(found))
		s.end(ctx, c, done, found, nil)
	}
}

// guarded runs the check and converts a panic into an error.
func (s *Service) guarded(ctx context.Context, at func(check.Step)) (found []check.Finding, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.o.Check(ctx, at)
}

// storeProgress stores the progress of a check and renews its lease every tellEvery, until steps is
// closed. If another check has claimed the row, it calls the function lost and returns.
func (s *Service) storeProgress(ctx context.Context, c start, steps <-chan check.Step, lost context.CancelCauseFunc) {
	tick := time.NewTicker(s.tellEvery)
	defer tick.Stop()
	var at check.Step
	for {
		select {
		case next, more := <-steps:
			if !more {
				return
			}
			at = next
			continue // there may be many short steps, so only the next tick stores the step
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := s.store(ctx, c, "step = ?, done = ?, findings = ?", at.Name, at.Done, asText(at.Found))
		if errors.Is(err, lease.ErrLost) {
			lost(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Debug("the progress of the check was not stored", "err", err)
		}
	}
}

// store changes the row and renews its lease. It returns lease.ErrLost if another check has claimed
// the row, and errors of the database.
func (s *Service) store(ctx context.Context, c start, set string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, leaseFor/2)
	defer cancel()
	set += ", lease = " + s.db.Dialect.NowMicros + " + ?"
	return s.leases.Update(ctx, s.db, c.owner, []int64{theCheck}, set, append(args, leaseFor.Microseconds())...)
}

// end stores the result of a check, even if ctx has ended. The parameter why is the error of a
// failed check.
func (s *Service) end(ctx context.Context, c start, state int, found []check.Finding, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	set, args := "state = ?, ended = "+s.db.Dialect.NowMicros+", step = '', error = ?", []any{state, ""}
	if why != nil {
		args[1] = fmt.Sprintf("%.*s", maxError, fault.Public(why))
	}
	if state == done {
		set += ", findings = ?, done = steps"
		args = append(args, asText(found))
	}
	if err := s.store(ctx, c, set, args...); err != nil {
		s.o.Log.Warn("the result of the check was not stored", "err", err)
	}
}

// asText returns the first maxFindings findings as JSON, in the form that the row stores.
func asText(found []check.Finding) string {
	list := make([]Finding, min(len(found), maxFindings))
	for i := range list {
		f := found[i]
		list[i] = Finding{Check: f.Check, Table: f.Table, ID: f.ID, Text: f.Told()}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(b)
}
