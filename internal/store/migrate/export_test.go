package migrate

import (
	"time"

	schema "github.com/alds-dev/alds/sql"
)

// Steps returns the migrations of a database, for tests to change.
func (m *Migrations) Steps() *[]schema.Migration { return &m.steps }

// SetLease sets the duration of the lease of a migration, and how long other processes wait.
func (m *Migrations) SetLease(lease, wait time.Duration) { m.lease, m.wait = lease, wait }
