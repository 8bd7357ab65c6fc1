package change

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// ChunkSize is the maximum number of versions that are read at once. MaxBytes is about the maximum
// size of these versions together; a single version may be larger. For the previous versions of
// these versions, the same limit applies separately.
const (
	ChunkSize = 500
	MaxBytes  = 8 << 20
)

// ErrTooLarge means that the previous versions of several versions are larger than MaxBytes
// together, or that a result computed from versions would be too large.
var ErrTooLarge = errors.New("the versions are too large to be processed together")

// InParts calls do with all elements. If they are too large together, it calls do with each half of them, and so on.
// Errors: those of do.
func InParts[T any](all []T, do func(part []T) error) error {
	err := do(all)
	n := len(all) / 2
	if n == 0 || !errors.Is(err, ErrTooLarge) {
		return err
	}
	if err := InParts(all[:n], do); err != nil {
		return err
	}
	return InParts(all[n:], do)
}

// errEnough ends a statement when enough rows were read.
var errEnough = errors.New("enough was read")

// Loader reads versions. It is immutable and safe for concurrent use.
type Loader struct {
	// Columns are the columns of a version for SQL, in the order of Rows. The table has the alias
	// v.
	Columns string

	differ *Differ
	slim   string // the same as Columns, but with NULL in place of long texts and attrs
}

// NewLoader returns a loader for the differ's model.
func NewLoader(d *Differ) *Loader {
	names := []string{"id", "type", "state", "moment", "until_moment", "audit_id", "created_moment", "linked"}
	for _, c := range d.model.Columns {
		names = append(names, c.Name)
	}
	names = append(names, "attrs")
	all, slim := make([]string, len(names)), make([]string, len(names))
	fixed := len(names) - len(d.model.Columns) - 1
	for i, name := range names {
		all[i] = db.OfVersion("v", name)
		slim[i] = all[i]
		if n := i - fixed; n == len(d.model.Columns) || n >= 0 && d.model.Columns[n].Kind == meta.Long {
			slim[i] = "NULL"
		}
	}
	return &Loader{differ: d, Columns: strings.Join(all, ", "), slim: strings.Join(slim, ", ")}
}

// Versions reads versions of audits, in the order of their moments. The parameter limit is the
// maximum number of versions. Versions also stops when the versions are larger than MaxBytes
// together, but reads at least two. The result more is true if there may be more versions.
func (l *Loader) Versions(ctx context.Context, q db.Querier, audits []Audit, limit int) (all []Version, more bool, err error) {
	if len(audits) == 0 {
		return nil, false, nil
	}
	first, last := audits[0].First, audits[0].Last
	ids := make([]int64, 0, len(audits))
	for _, a := range audits {
		first, last = min(first, a.First), max(last, a.Last)
		ids = append(ids, a.ID)
	}
	in, args := db.InArgs(ids)
	args = append(args, first, last, limit)
	rows, size := l.Rows(), int64(0)
	err = db.Each(ctx, q, "SELECT "+l.Columns+" FROM asset_version v WHERE v.audit_id IN "+in+
		" AND v.moment BETWEEN ? AND ? ORDER BY v.moment, v.id LIMIT ?", args, func(row db.Scanner) error {
		v, err := rows.Scan(row)
		if err != nil {
			return err
		}
		all = append(all, v)
		if size += v.Size(); size > MaxBytes && len(all) > 1 {
			more = true
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, false, err
	}
	more = more || len(all) >= limit
	return ofAudits(all, audits), more, nil
}

// During reads versions that were current at some moment from first to last. It reads them without
// long texts and Attrs. The parameter limit is the maximum number of versions.
func (l *Loader) During(ctx context.Context, q db.Querier, ids []int64, first, last int64, limit int) ([]Version, error) {
	in, args := db.InArgs(ids)
	return l.read(ctx, q, "SELECT "+l.slim+" FROM asset_version v WHERE v.id IN "+in+
		" AND v.moment <= ? AND v.until_moment > ? LIMIT ?", append(args, last, first, limit))
}

// ofAudits removes versions whose moment is outside the range of their own audit.
func ofAudits(all []Version, audits []Audit) []Version {
	byID := map[int64]Audit{}
	for _, a := range audits {
		byID[a.ID] = a
	}
	return slices.DeleteFunc(all, func(v Version) bool {
		a := byID[v.Audit]
		return v.Moment < a.First || v.Moment > a.Last
	})
}

// Steps returns a step for each version, in order. It returns ErrTooLarge if the previous versions
// are too large together.
func (l *Loader) Steps(ctx context.Context, q db.Querier, versions []Version) ([]Step, error) {
	steps := make([]Step, len(versions))
	at := map[At]*Step{}
	for i, v := range versions {
		steps[i].Now = v
		at[At{v.ID, v.Moment}] = &steps[i]
	}
	if err := l.before(ctx, q, steps, at); err != nil {
		return nil, err
	}
	if err := l.edges(ctx, q, steps, at); err != nil {
		return nil, err
	}
	return steps, nil
}

// before sets the previous version of each step: the version that ended at the moment of the step.
func (l *Loader) before(ctx context.Context, q db.Querier, steps []Step, at map[At]*Step) error {
	var ids, moments []int64
	for i := range steps {
		if v := &steps[i].Now; v.Created != v.Moment {
			ids = append(ids, v.ID)
			moments = append(moments, v.Moment)
		}
	}
	most := int64(MaxBytes)
	if len(steps) == 1 {
		most = math.MaxInt64
	}
	for len(ids) > 0 {
		n := min(len(ids), ChunkSize)
		if err := l.beforeOf(ctx, q, ids[:n], moments[:n], at, &most); err != nil {
			return err
		}
		ids, moments = ids[n:], moments[n:]
	}
	for i := range steps {
		if v := &steps[i].Now; v.Created != v.Moment && steps[i].Before == nil {
			return fmt.Errorf("asset %d at moment %d has no previous version", v.ID, v.Moment)
		}
	}
	return nil
}

// beforeOf sets the previous versions of some steps. The parameter left is the number of bytes that
// these versions may still have; beforeOf reduces it.
func (l *Loader) beforeOf(ctx context.Context, q db.Querier, ids, moments []int64, at map[At]*Step, left *int64) error {
	in, args := db.InArgs(ids)
	args = append(args, slices.Min(moments), slices.Max(moments))
	var until int64
	rows := l.Rows(&until)
	return db.Each(ctx, q, "SELECT v.until_moment, "+l.Columns+" FROM asset_version v WHERE v.id IN "+in+
		" AND v.until_moment BETWEEN ? AND ?", args, func(row db.Scanner) error {
		v, err := rows.Scan(row)
		if err != nil {
			return err
		}
		if s := at[At{v.ID, until}]; s != nil {
			s.Before = &v
			if *left -= v.Size(); *left < 0 {
				return ErrTooLarge
			}
		}
		return nil
	})
}

func (l *Loader) read(ctx context.Context, q db.Querier, query string, args []any) ([]Version, error) {
	return db.Collect(ctx, q, query, args, l.Rows().Scan)
}

// Rows reads the versions of one result. It reuses one set of cells for all rows.
type Rows struct {
	model        *meta.Model
	version      Version
	code, linked int
	attrs        sql.NullString
	cells        []any // targets for the model's columns
	dest         []any
}

// Rows returns a reader for the rows of a query. first contains targets for additional columns.
// Each row has these columns first, and then the columns of a version. Reading a row sets the
// targets.
func (l *Loader) Rows(first ...any) *Rows {
	r := &Rows{model: l.differ.model, dest: first}
	v := &r.version
	r.dest = append(r.dest, &v.ID, &r.code, &v.State, &v.Moment, &v.Until, &v.Audit, &v.Created, &r.linked)
	for _, c := range r.model.Columns {
		to := cell(c.Kind)
		r.cells, r.dest = append(r.cells, to), append(r.dest, to)
	}
	r.dest = append(r.dest, &r.attrs)
	return r
}

// Scan reads the version of a row. It returns an error of the row, or an error if the model does
// not have the type of the version.
func (r *Rows) Scan(row db.Scanner) (Version, error) {
	if err := row.Scan(r.dest...); err != nil {
		return Version{}, err
	}
	v := r.version
	t, ok := r.model.TypeByCode(r.code)
	if !ok {
		return v, fmt.Errorf("asset %d at moment %d has the unknown type code %d", v.ID, v.Moment, r.code)
	}
	v.Type, v.Linked, v.Attrs = t, r.linked != 0, r.attrs.String
	v.Columns = make([]any, len(r.cells))
	for i := range r.cells {
		v.Columns[i] = plain(r.cells[i])
	}
	return v, nil
}

// cell returns a new target for scanning a column of kind k.
func cell(k meta.ColumnKind) any {
	switch k {
	case meta.Str, meta.Long:
		return new(sql.NullString)
	case meta.Number:
		return new(sql.NullFloat64)
	default:
		return new(sql.NullInt64)
	}
}

// plain returns the value of a cell, or nil for NULL. It is called for each column of each version,
// and the Value method of a cell would take three times as long.
func plain(cell any) any {
	switch c := cell.(type) {
	case *sql.NullString:
		if c.Valid {
			return c.String
		}
	case *sql.NullFloat64:
		if c.Valid {
			return c.Float64
		}
	case *sql.NullInt64:
		if c.Valid {
			return c.Int64
		}
	}
	return nil
}

// codes returns the keys of a map as a comma-separated list for SQL. The keys come from the model,
// not from input.
func codes(of map[int]*meta.Attr) string {
	var all []string
	for _, c := range slices.Sorted(maps.Keys(of)) {
		all = append(all, strconv.Itoa(c))
	}
	return strings.Join(all, ",")
}
