package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

const (
	// statisticsFrom is the minimum number of rows of a table with statistics. With statistics of a
	// smaller table, SQLite would read the whole table instead of using an index, even after the
	// table has grown.
	statisticsFrom = 1000

	statisticsPeriod = 24 * time.Hour
	statisticsShare  = 2 // statistics are gathered again when half of the rows have changed
	leastChange      = 2000

	// Writes wait while an index is read. After each index there is a pause, indexPause times as
	// long as the reading took. After all indexes there is another pause, statisticsPause times as
	// long as everything took. After the first gathering in a process there is no such pause.
	indexPause      = 4
	statisticsPause = 10
)

// statistics detects when the statistics of a database are old.
type statistics struct {
	changes atomic.Int64 // number of rows written since the statistics were gathered
	enough  atomic.Int64 // the statistics are old after this number of changes
	old     chan struct{}
}

func newStatistics() *statistics {
	s := &statistics{old: make(chan struct{}, 1)}
	s.enough.Store(leastChange)
	return s
}

// changed counts the rows that a committed transaction has written.
func (s *statistics) changed(rows int64) {
	if s == nil || rows == 0 || s.changes.Add(rows) < s.enough.Load() {
		return
	}
	select {
	case s.old <- struct{}{}:
	default:
	}
}

// KeepStatistics gathers statistics until ctx ends: at once, whenever half of all rows have
// changed, and daily. After changes, gathering takes at most a fiftieth of the time. On MySQL it
// only waits for the end of ctx, because the server gathers its own statistics.
func (d *DB) KeepStatistics(ctx context.Context) error {
	if d.statistics == nil {
		<-ctx.Done()
		return nil
	}
	for n := 0; ; n++ {
		began := time.Now()
		if err := d.GatherStatistics(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("statistics were not gathered; queries may be slow", "err", err)
		} else {
			d.log.Debug("statistics gathered", "duration_ms", time.Since(began).Milliseconds())
		}
		var rest <-chan time.Time
		if n > 0 { // the first time is not caused by changes
			rest = time.After(statisticsPause * time.Since(began))
		}
		if !d.statistics.grownOld(ctx, rest) {
			return nil
		}
	}
}

// grownOld waits until statistics are old, and at least until rest has a value; nil means no rest.
// It returns false when ctx has ended.
func (s *statistics) grownOld(ctx context.Context, rest <-chan time.Time) bool {
	for {
		old := s.old
		if rest != nil {
			old = nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-rest:
			rest = nil
		case <-old:
			return true
		case <-time.After(statisticsPeriod):
			return true
		}
	}
}

// GatherStatistics gives SQLite's planner the number of rows per value of each index. Each index
// has its own transaction, of about 20 ms for 100,000 rows. After each index there is a pause, so
// that writes can run most of the time. At the end all connections use the statistics. On MySQL,
// which gathers its own statistics, GatherStatistics does nothing.
func (d *DB) GatherStatistics(ctx context.Context) error {
	if d.statistics == nil {
		return nil
	}
	d.statistics.changes.Store(0)
	list, err := d.indexes(ctx)
	if err != nil {
		return err
	}
	rows := map[string]int64{}
	for _, x := range list {
		began := time.Now()
		n, err := d.gather(ctx, x)
		if err != nil {
			return fmt.Errorf("statistics of %s: %w", x.name, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(indexPause * time.Since(began)):
		}
		rows[x.table] = max(rows[x.table], n) // a partial index has only some of the rows
	}
	total := int64(0)
	for _, n := range rows {
		total += n
	}
	d.statistics.enough.Store(max(leastChange, total/statisticsShare))
	return d.Write(ctx, reload)
}

// index is an index of SQLite.
type index struct {
	table, name, column string // the first column of the index
	inStatistics        string // its name in sqlite_stat1; the table's name if the rows are stored in the index
	nullable            bool
}

func (d *DB) indexes(ctx context.Context) ([]index, error) {
	rows, err := d.Query(ctx, `SELECT t.name, x.name, c.name, CASE WHEN l.wr AND x.origin = 'pk' THEN t.name ELSE x.name END, a."notnull" = 0
		FROM sqlite_schema t, pragma_table_list(t.name) l, pragma_index_list(t.name) x, pragma_index_info(x.name) c, pragma_table_info(t.name) a
		WHERE t.type = 'table' AND c.seqno = 0 AND a.name = c.name ORDER BY t.name, x.name`)
	if err != nil {
		return nil, err
	}
	var list []index
	err = eachRow(rows, func(row Scanner) error {
		var x index
		err := row.Scan(&x.table, &x.name, &x.column, &x.inStatistics, &x.nullable)
		list = append(list, x)
		return err
	})
	return list, err
}

// gather gathers the statistics of an index and returns the number of rows in the index, or 0 if
// the table is small.
func (d *DB) gather(ctx context.Context, x index) (n int64, err error) {
	q := d.Dialect.Quote
	var some int
	err = d.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+q(x.table)+" LIMIT ?)", statisticsFrom).Scan(&some)
	if err != nil || some < statisticsFrom {
		return 0, err
	}
	var values, distinct int64
	if x.nullable {
		err = d.QueryRow(ctx, "SELECT COUNT("+q(x.column)+"), COUNT(DISTINCT "+q(x.column)+") FROM "+q(x.table)).Scan(&values, &distinct)
		if err != nil {
			return 0, err
		}
	}
	err = d.Write(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(ctx, "ANALYZE "+q(x.name)); err != nil {
			return err
		}
		var stat string
		err := tx.QueryRow(ctx, "SELECT stat FROM sqlite_stat1 WHERE tbl = ? AND idx = ?", x.table, x.inStatistics).Scan(&stat)
		if fault.KindOf(err) == fault.NotFound { // a partial index without rows
			return nil
		}
		if err != nil {
			return err
		}
		head, _, _ := strings.Cut(stat, " ")
		if n, err = strconv.ParseInt(head, 10, 64); err != nil || !x.nullable {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE sqlite_stat1 SET stat = ? WHERE tbl = ? AND idx = ?", withoutNull(stat, values, distinct), x.table, x.inStatistics)
		return err
	})
	return n, err
}

// withoutNull returns the statistics of an index without the rows where its first column is NULL.
// values and distinct count the other rows and their distinct values. stat contains the number of
// rows. Then it contains, for the first column, the first two columns and so on, how many rows have
// the same values in these columns. With statistics that include NULL, SQLite would not use an
// index whose first column is NULL in most rows, such as a relation that is seldom set.
func withoutNull(stat string, values, distinct int64) string {
	numbers := strings.Fields(stat)
	same := int64(1)
	if distinct > 0 {
		same = max(1, (values+distinct-1)/distinct)
	}
	for i, text := range numbers[1:] {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n > same || i == 0 {
			numbers[i+1] = strconv.FormatInt(same, 10)
		}
	}
	return strings.Join(numbers, " ")
}

// reload makes every connection load the schema and the statistics again, and plan its
// statements again, as after a change of the schema.
func reload(tx *Tx) error {
	var version int64
	if err := tx.QueryRow(tx.ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return err
	}
	_, err := tx.Exec(tx.ctx, "PRAGMA schema_version = "+strconv.FormatInt(version+1, 10))
	return err
}
