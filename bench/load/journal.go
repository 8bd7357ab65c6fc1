package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// entry is one line of the journal: a project that was made, or a request and
// what came of it.
type entry struct {
	Project string        `json:"project"`
	Scope   string        `json:"scope,omitempty"`
	Request int           `json:"request,omitempty"` // one-based; 0 for a project
	Count   int           `json:"count,omitempty"`   // stories in the request
	Took    time.Duration `json:"took,omitempty"`    // nanoseconds until the answer
	Error   string        `json:"error,omitempty"`   // empty: answered 200 and nothing failed
	Found   bool          `json:"found,omitempty"`   // not answered, but found carried out when resuming
}

// ok reports whether the request was answered 200 without failures.
func (e entry) ok() bool { return e.Error == "" && !e.Found }

// journal is what happened, kept line by line so that a load that was cut off
// can be resumed and verified.
type journal struct {
	file     *os.File
	scopes   map[string]string // by project
	requests map[int]entry     // the last word on each request
}

// openJournal reads the journal, or starts a new one.
func openJournal(name string, fresh bool) (*journal, error) {
	mode := os.O_RDWR | os.O_CREATE
	if fresh {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, mode, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, scopes: map[string]string{}, requests: map[int]entry{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
		j.note(e)
	}
	return j, lines.Err()
}

func (j *journal) note(e entry) {
	if e.Request == 0 {
		j.scopes[e.Project] = e.Scope
	} else {
		j.requests[e.Request] = e
	}
}

// add notes e and writes it through to the file.
func (j *journal) add(e entry) error {
	j.note(e)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// done reports whether the request need not be sent any more.
func (j *journal) done(request int) bool {
	e, known := j.requests[request]
	return known && (e.ok() || e.Found)
}

func (j *journal) close() { _ = j.file.Close() } // every line is already written
