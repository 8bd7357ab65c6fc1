package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/store/db"
)

// At identifies a version by its asset and its moment.
type At struct{ ID, Moment int64 }

// maxAt is the maximum number of versions that one statement reads.
const maxAt = 256

// VersionsAt reads versions and returns them in the order of the list at. It calls take with the
// size of each version in bytes, and stops at the first error of take. It returns this error, or an
// error if a version does not exist.
func (l *Loader) VersionsAt(ctx context.Context, q db.Querier, at []At, take func(bytes int64) error) ([]Version, error) {
	found := make(map[At]*Version, len(at))
	for from := 0; from < len(at); from += maxAt {
		if err := l.versionsAt(ctx, q, at[from:min(from+maxAt, len(at))], found, take); err != nil {
			return nil, err
		}
	}
	all := make([]Version, len(at))
	for i, a := range at {
		v := found[a]
		if v == nil {
			return nil, fmt.Errorf("asset %d has no version of moment %d", a.ID, a.Moment)
		}
		all[i] = *v
	}
	return all, nil
}

func (l *Loader) versionsAt(ctx context.Context, q db.Querier, at []At, into map[At]*Version, take func(int64) error) error {
	n := db.InSize(len(at))
	args := make([]any, 0, 2*n)
	for i := range n {
		a := at[min(i, len(at)-1)]
		args = append(args, a.ID, a.Moment)
	}
	one := "v.id = ? AND v.moment = ?"
	query := "SELECT " + l.Columns + " FROM asset_version v WHERE " + one + strings.Repeat(" OR "+one, n-1)
	rows := l.Rows()
	return db.Each(ctx, q, query, args, func(row db.Scanner) error {
		v, err := rows.Scan(row)
		if err != nil {
			return err
		}
		into[At{v.ID, v.Moment}] = &v
		return take(v.Size())
	})
}

// Edges adds to each step the rows of relations and multi-value attributes that began or ended at
// the moment of the step. It skips steps whose version has Linked set to false.
func (l *Loader) Edges(ctx context.Context, q db.Querier, steps []*Step) error {
	all := make([]Step, len(steps))
	places := make(map[At]*Step, len(steps))
	for i, s := range steps {
		all[i] = Step{Now: s.Now}
		places[At{s.Now.ID, s.Now.Moment}] = s
	}
	return l.edges(ctx, q, all, places)
}

// Size returns the approximate size of the version in bytes.
func (v *Version) Size() int64 {
	n := 16*len(v.Columns) + len(v.Attrs)
	for _, c := range v.Columns {
		if text, ok := c.(string); ok {
			n += len(text)
		}
	}
	return int64(n)
}
