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

// The states of the row of system_check.
const (
	never     = 0
	running   = 1
	done      = 2
	failed    = 3
	brokenOff = 4
)

var stateNames = []string{never: "never", running: "running", done: "done", failed: "failed", brokenOff: "broken off"}

// Bounds of a check.
const (
	maxFindings = 1000             // that are stored
	maxError    = 1000             // characters
	leaseFor    = 20 * time.Second // without a renewal by its process
	tellEvery   = 2 * time.Second
	endLimit    = 5 * time.Second // to write how it ended
)

// theCheck is the id of the only row.
const theCheck int64 = 1

// start is a check that this process has claimed.
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
	By       string    `json:"by,omitempty"`
	Step     string    `json:"step,omitempty"` // that runs
	Done     int       `json:"done"`
	Of       int       `json:"of"`
	Findings []Finding `json:"findings"`
	Error    string    `json:"error,omitempty"`
}

// Finding is one inconsistency.
type Finding struct {
	Check string `json:"check"`
	Table string `json:"table"`
	ID    int64  `json:"id"`
	Text  string `json:"text"`
}

// Start starts a check of the whole database.
// Errors: fault.Denied as Status; fault.Conflict while one runs.
func (s *Service) Start(ctx context.Context, who auth.Actor) (State, error) {
	if err := mayRead(who); err != nil {
		return State{}, err
	}
	c := start{owner: uuid.NewString(), member: who.Member}
	now := s.db.Dialect.NowMicros
	res, err := s.db.Exec(ctx, `UPDATE system_check SET state = ?, began = `+now+`, ended = 0, begun_by = ?, step = '', done = 0, steps = ?,`+
		` findings = NULL, error = '', owner = ?, lease = `+now+` + ? WHERE id = ? AND (state <> ? OR lease <= `+now+`)`,
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
	default: // a check that has lost its row has not ended yet
		s.end(ctx, c, brokenOff, nil, nil)
		return State{}, fault.Transientf(nil, "The check before is still ending; try again")
	}
	return s.state(ctx)
}

// Check returns the progress of the last check.
// Errors: fault.Denied as Status.
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
	err := s.db.QueryRow(ctx, `SELECT state, began, ended, begun_by, step, done, steps, findings, error, lease, `+s.db.Dialect.NowMicros+
		` FROM system_check WHERE id = ?`, theCheck).Scan(&state, &began, &ended, &by, &st.Step, &st.Done, &st.Of, &findings, &st.Error, &until, &now)
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

func orNone(micros int64) *string {
	if micros == 0 {
		return nil
	}
	at := instant(micros)
	return &at
}

// Run runs the checks that this process has started, one at a time, until ctx ends. A check
// that is running or waiting then is broken off.
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

// carryOut runs one check and stores how it ended.
func (s *Service) carryOut(ctx context.Context, c start) {
	within, lost := context.WithCancelCause(db.WithMember(ctx, c.member))
	defer lost(nil)
	steps := make(chan check.Step, 1) // the last one
	told := make(chan struct{})
	go func() { defer close(told); s.tell(within, c, steps, lost) }()
	found, err := s.guarded(within, func(at check.Step) {
		select {
		case <-steps:
		default:
		}
		steps <- at
	})
	close(steps)
	<-told
	switch {
	case errors.Is(context.Cause(within), lease.ErrLost):
		s.o.Log.Warn("the check was given up: another process took it for dead")
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

// guarded runs the check and converts a panic to an error.
func (s *Service) guarded(ctx context.Context, at func(check.Step)) (found []check.Finding, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.o.Check(ctx, at)
}

// tell writes the progress of a check and extends its lease until steps is closed. It calls
// lost if another process has the row.
func (s *Service) tell(ctx context.Context, c start, steps <-chan check.Step, lost context.CancelCauseFunc) {
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
			continue // written with the next tick, since steps may be many and short
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
			s.o.Log.Debug("how far the check is could not be written", "err", err)
		}
	}
}

// store changes the row and extends its lease.
// Errors: lease.ErrLost.
func (s *Service) store(ctx context.Context, c start, set string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, leaseFor/2)
	defer cancel()
	set += ", lease = " + s.db.Dialect.NowMicros + " + ?"
	return s.leases.Update(ctx, s.db, c.owner, []int64{theCheck}, set, append(args, leaseFor.Microseconds())...)
}

// end stores how a check ended. It also works after ctx has ended.
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
		s.o.Log.Warn("how the check ended could not be written", "err", err)
	}
}

// asText returns findings as stored in the row.
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
