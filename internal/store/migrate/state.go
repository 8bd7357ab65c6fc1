package migrate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	schema "github.com/alds-dev/alds/sql"
)

// State compares the schema of a database with this build.
type State struct {
	Release string      // the newest release that has migrated the database; "" if unknown
	Empty   bool        // no migration has been applied
	Missing []Migration // migrations of this build that are not applied, in order
	Newer   []Migration // applied migrations that this build does not have, in order
}

// Migration is a step of the schema.
type Migration struct {
	Version int
	Name    string
	Oldest  string // the oldest release that works with it; "" if it is not recorded
}

// String returns the name of the migration's file.
func (m Migration) String() string { return fmt.Sprintf("%04d_%s", m.Version, m.Name) }

// Oldest returns the migration that works with the fewest releases: the one with the newest Oldest.
func Oldest(all []Migration) (worst Migration) {
	for i, m := range all {
		if i == 0 || release.Rank(m.Oldest) > release.Rank(worst.Oldest) {
			worst = m
		}
	}
	return worst
}

// OfNewer reports whether a newer release has migrated the database.
func (s *State) OfNewer() bool {
	return len(s.Newer) > 0 || release.Rank(s.Release) > release.Rank(release.Number)
}

// refusal returns an error that says why this release does not work with the database, or nil if it
// works.
func (s *State) refusal() error {
	for _, m := range s.Newer {
		if m.Oldest == "" {
			return fmt.Errorf("this database was migrated by a newer alds (schema migration %s), and it is unknown "+
				"which older releases work with it: run the newer alds", m)
		}
	}
	if worst := Oldest(s.Newer); release.Rank(worst.Oldest) > release.Rank(release.Number) {
		return fmt.Errorf("this database was migrated by a newer alds, and the oldest release that works with it is %s "+
			"(schema migration %s); this is %s: run %[1]s or a newer one", worst.Oldest, worst, release.Number)
	}
	return nil
}

// SchemaState compares the schema of the database with this build. It changes nothing.
// Errors: a database that this build cannot work with; the message says why.
func (m *Migrations) SchemaState(ctx context.Context) (State, error) {
	s, _, err := m.state(ctx, m.o.Reads)
	if err != nil || s.Empty {
		return s, err
	}
	var rank int64
	err = m.o.Reads.QueryRowContext(ctx, "SELECT COALESCE(MAX(value), 0) FROM sequence WHERE name = 'release'").Scan(&rank)
	if err != nil && !sqlerror.IsNoTable(err) {
		return s, sqlerror.Fault(err)
	}
	s.Release = release.Of(rank)
	return s, nil
}

// SchemaIsCurrent returns nil if all migrations of this build have been applied, and this release
// works with all other applied migrations. Otherwise the error says what to do. The method changes
// nothing.
func (m *Migrations) SchemaIsCurrent(ctx context.Context) error {
	s, _, err := m.state(ctx, m.o.Reads)
	if err != nil {
		return err
	}
	if n := len(s.Missing); n > 0 {
		return fmt.Errorf("the database schema is old: %d of %d migrations are missing, the first is %s; run `api migrate`",
			n, len(m.steps), s.Missing[0])
	}
	return nil
}

// asker runs queries.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// state is like SchemaState, but does not read the release. It also returns the rows of
// schema_migration by version.
func (m *Migrations) state(ctx context.Context, q asker) (s State, done map[int]applied, err error) {
	if done, err = history(ctx, q); err != nil {
		return s, nil, err
	}
	s.Empty = len(done) == 0
	if s.Missing, err = missing(m.steps, done); err != nil {
		return s, done, err
	}
	if err := s.addNewer(ctx, q, m.steps, done); err != nil {
		return s, done, err
	}
	if err := s.refusal(); err != nil {
		return s, done, err
	}
	if len(s.Newer) > 0 && len(s.Missing) > 0 {
		return s, done, fmt.Errorf("this database was migrated by a newer alds (schema migration %s), but lacks %s, which this build has: "+
			"this build does not work with this database", s.Newer[0], s.Missing[0])
	}
	return s, done, nil
}

// applied is a row of schema_migration.
type applied struct {
	name, checksum string
	begun          bool // true if the migration has begun, but is not done
}

// history returns the rows of schema_migration by version. It also has migrations that have only
// begun.
func history(ctx context.Context, q asker) (map[int]applied, error) {
	done := map[int]applied{}
	rows, err := q.QueryContext(ctx, "SELECT version, name, checksum, applied_at FROM schema_migration")
	switch {
	case err != nil && sqlerror.IsNoTable(err):
		return done, nil
	case err != nil:
		return nil, sqlerror.Fault(err)
	}
	err = each(rows, func() error {
		var version int
		var at int64
		var a applied
		err := rows.Scan(&version, &a.name, &a.checksum, &at)
		a.begun = at == 0
		done[version] = a
		return err
	})
	return done, err
}

// missing returns the steps that are not done in a database with this history.
// Errors: the content of an applied step differs from this build.
func missing(steps []schema.Migration, done map[int]applied) ([]Migration, error) {
	var todo []Migration
	for _, s := range steps {
		a, ok := done[s.Version]
		switch {
		case !ok, a.begun:
			todo = append(todo, Migration{s.Version, s.Name, s.Oldest})
		case a.checksum != s.Checksum:
			return nil, fmt.Errorf("schema migration %04d_%s was applied to this database with other contents than this build has; "+
				"released migrations never change, so this build does not work with this database", s.Version, s.Name)
		}
	}
	return todo, nil
}

// addNewer adds the applied migrations that this build does not have. It also adds those that have
// only begun, since this build must work while they run.
func (s *State) addNewer(ctx context.Context, q asker, steps []schema.Migration, done map[int]applied) error {
	for version, a := range done {
		if !slices.ContainsFunc(steps, func(known schema.Migration) bool { return known.Version == version }) {
			s.Newer = append(s.Newer, Migration{Version: version, Name: a.name})
		}
	}
	slices.SortFunc(s.Newer, func(a, b Migration) int { return a.Version - b.Version })
	if records, ok := done[schema.RecordsOldest]; len(s.Newer) == 0 || !ok || records.begun {
		return nil
	}
	rows, err := q.QueryContext(ctx, "SELECT version, oldest_release FROM schema_migration WHERE version >= ?", s.Newer[0].Version)
	if err != nil {
		return sqlerror.Fault(err)
	}
	return each(rows, func() error {
		var version int
		var oldest string
		err := rows.Scan(&version, &oldest)
		for i := range s.Newer {
			if s.Newer[i].Version == version {
				s.Newer[i].Oldest = oldest
			}
		}
		return err
	})
}
