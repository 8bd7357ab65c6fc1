package db

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Meaning is the expected meaning of a server's error number.
type Meaning struct {
	Number  uint16
	Message string // the server's text, if the number alone does not decide; else empty
	Kind    fault.Kind
	Repeat  bool // if a statement fails with the error, Write runs its function again
	Unknown bool // if COMMIT fails with the error, the outcome is unknown
	Again   bool // if COMMIT fails with the error, Write runs its function again
	Drop    bool // the connection is not used again
}

// Meanings are the error numbers of all engines.
var Meanings = []Meaning{
	// another transaction was first: this transaction is rolled back on all servers
	{Number: 1205, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1213, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1020, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 3101, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 8002, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 8005, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 8022, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 8028, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 9004, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 9006, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 9007, Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1030, Message: "Got error 149 - 'Lock deadlock; Retry transaction' from storage engine", Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1030, Message: "Got error 153 - 'No savepoint with that name' from storage engine", Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1180, Message: "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT", Kind: fault.Transient, Repeat: true, Again: true},
	{Number: 1305, Message: "SAVEPOINT p1 does not exist", Kind: fault.Transient, Repeat: true, Again: true},

	// this server refuses the statement and has not run it; another server may run it
	{Number: 1047, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 1290, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 1792, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 1836, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 3796, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 3797, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 3798, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 3799, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},
	{Number: 8027, Kind: fault.Transient, Repeat: true, Again: true, Drop: true},

	// the server failed while it committed, and other servers may have the transaction
	{Number: 1180, Kind: fault.Transient, Repeat: true, Unknown: true, Drop: true},
	{Number: 1180, Message: "Got error 28 - 'No space left on device' during COMMIT", Kind: fault.Transient, Repeat: true, Unknown: true, Drop: true},
	{Number: 1181, Kind: fault.Transient, Repeat: true, Unknown: true, Drop: true},
	{Number: 3100, Kind: fault.Transient, Repeat: true, Unknown: true, Drop: true},
	{Number: 1105, Message: "execution result undetermined", Kind: fault.Transient, Repeat: true, Unknown: true, Drop: true},

	// the connection ends
	{Number: 1053, Kind: fault.Transient, Repeat: true, Unknown: true},
	{Number: 1927, Kind: fault.Transient, Repeat: true, Unknown: true},
	{Number: 4031, Kind: fault.Transient, Repeat: true, Unknown: true},

	// a part of the cluster does not answer, after the server has waited for it
	{Number: 9001, Kind: fault.Transient, Unknown: true},
	{Number: 9002, Kind: fault.Transient, Unknown: true},
	{Number: 9003, Kind: fault.Transient, Unknown: true},
	{Number: 9005, Kind: fault.Transient, Unknown: true},
	{Number: 9008, Kind: fault.Transient, Unknown: true},
	{Number: 9010, Kind: fault.Transient, Unknown: true},

	// the server has not enough connections, memory, time or disk space
	{Number: 1040, Kind: fault.Transient},
	{Number: 1041, Kind: fault.Transient},
	{Number: 1317, Kind: fault.Transient},
	{Number: 1114, Kind: fault.Transient},
	{Number: 1026, Kind: fault.Transient},

	// the transaction is too large; a repetition does not help
	{Number: 1105, Message: "Maximum writeset size exceeded", Kind: fault.Invalid},
	{Number: 8004, Kind: fault.Invalid},
	{Number: 8025, Kind: fault.Invalid},

	// the statement is too complex
	{Number: 1116, Kind: fault.Invalid},
	{Number: 1390, Kind: fault.Invalid},
	{Number: 1436, Kind: fault.Invalid},
	{Number: 1473, Kind: fault.Invalid},

	// the meaning of the error is unknown
	{Number: 1030, Message: "Got error 168 - 'Unknown (generic) error from engine' from storage engine", Kind: fault.Internal, Unknown: true},
	{Number: 1105, Message: "something else", Kind: fault.Internal, Unknown: true},
	{Number: 1064, Kind: fault.Internal, Unknown: true},
}

// Text returns the message of the server, or a fixed text if Message is empty.
func (m Meaning) Text() string {
	if m.Message == "" {
		return "told by a test"
	}
	return m.Message
}

// String returns the name of the test case.
func (m Meaning) String() string { return fmt.Sprintf("%d %s", m.Number, m.Message) }

// TestMeanings checks all functions that interpret error numbers.
func TestMeanings(t *testing.T) {
	for _, m := range Meanings {
		err := fmt.Errorf("a statement: %w", &mysql.MySQLError{Number: m.Number, Message: m.Text()})
		if kind := fault.KindOf(sqlerror.Fault(err)); kind != m.Kind {
			t.Errorf("%s: %v, want %v", m, kind, m.Kind)
		}
		if got := mayRetry(err); got != m.Repeat {
			t.Errorf("%s: repeated %t, want %t", m, got, m.Repeat)
		}
		if got := sqlerror.OutcomeUnknown(err); got != m.Unknown {
			t.Errorf("%s: its outcome is unknown %t, want %t", m, got, m.Unknown)
		}
		if got := sqlerror.IsUnfit(err); got != m.Drop {
			t.Errorf("%s: the connection is dropped %t, want %t", m, got, m.Drop)
		}
		if !errors.Is(sqlerror.Fault(err), err) {
			t.Errorf("%s: the cause is lost", m)
		}
	}
}
