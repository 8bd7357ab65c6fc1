package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// entry is one line of the journal: a created project, or a request with its result.
type entry struct {
	Project string        `json:"project"`
	Scope   string        `json:"scope,omitempty"`
	Request int           `json:"request,omitempty"` // from 1; 0 for a project
	Count   int           `json:"count,omitempty"`   // stories in the request
	Took    time.Duration `json:"took,omitempty"`    // nanoseconds until the answer
	Error   string        `json:"error,omitempty"`   // empty: status 200 without failures
	Found   bool          `json:"found,omitempty"`   // no answer, but -resume found that it was executed
}

// ok reports whether the request got status 200 without failures.
func (e entry) ok() bool { return e.Error == "" && !e.Found }

// journal records the load line by line, so that an interrupted load can be resumed and
// verified.
type journal struct {
	file     *os.File
	scopes   map[string]string // key: name of a project; value: its Oid
	requests map[int]entry     // key: number of a request; value: its latest entry
}

// openJournal reads the journal. If fresh is true, it starts an empty journal.
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

// add records e and appends it to the file.
func (j *journal) add(e entry) error {
	j.note(e)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// done reports whether the request need not be sent again.
func (j *journal) done(request int) bool {
	e, known := j.requests[request]
	return known && (e.ok() || e.Found)
}

func (j *journal) close() { _ = j.file.Close() } // every line is already written
