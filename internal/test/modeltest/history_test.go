package modeltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// history has all versions of all assets, as the tables of a database store them.
type history struct {
	m        *meta.Model
	versions map[int64][]rowOf // by stored id, in order of moments
	links    []edgeOf
	values   []edgeOf
	types    map[int64]*meta.Type
	names    map[int64]string // by stored id: current name
}

// rowOf is a row of asset_version.
type rowOf struct {
	code          int
	moment, state int64
	columns       []sql.NullString // values, in the order of the columns in the model
	attrs         map[string]any
}

// edgeOf is a row of asset_link or asset_value.
type edgeOf struct {
	code, fromType int
	from, to       int64
	text           string
	since, until   int64
}

func (b *database) readTables(ctx context.Context) (*history, error) {
	x := &history{m: b.m, versions: map[int64][]rowOf{}, types: map[int64]*meta.Type{}, names: map[int64]string{}}
	columns := []string{"id", "type", "moment", "state", "attrs"}
	for _, c := range b.m.Columns {
		columns = append(columns, c.Name)
	}
	err := db.Each(ctx, b.d, "SELECT "+db.OfVersions("v", columns)+" FROM asset_version v ORDER BY v.id, v.moment", nil, func(row db.Scanner) error {
		var id int64
		var attrs sql.NullString
		v := rowOf{columns: make([]sql.NullString, len(b.m.Columns))}
		into := []any{&id, &v.code, &v.moment, &v.state, &attrs}
		for i := range v.columns {
			into = append(into, &v.columns[i])
		}
		if err := row.Scan(into...); err != nil {
			return err
		}
		if attrs.String != "" {
			d := json.NewDecoder(strings.NewReader(attrs.String))
			d.UseNumber()
			if err := d.Decode(&v.attrs); err != nil {
				return err
			}
		}
		t, ok := b.m.TypeByCode(v.code)
		if !ok {
			return fmt.Errorf("type %d", v.code)
		}
		x.types[id] = t
		x.versions[id] = append(x.versions[id], v)
		x.names[id] = v.columns[b.slot("name")].String
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.links, err = db.Collect(ctx, b.d, "SELECT relation, from_type, from_id, to_id, since_moment, until_moment FROM asset_link", nil, func(row db.Scanner) (e edgeOf, err error) {
		err = row.Scan(&e.code, &e.fromType, &e.from, &e.to, &e.since, &e.until)
		return e, err
	})
	if err != nil {
		return nil, err
	}
	x.values, err = db.Collect(ctx, b.d, "SELECT attribute, from_type, from_id, value, since_moment, until_moment FROM asset_value", nil, func(row db.Scanner) (e edgeOf, err error) {
		err = row.Scan(&e.code, &e.fromType, &e.from, &e.text, &e.since, &e.until)
		return e, err
	})
	return x, err
}

func (b *database) slot(column string) int {
	return slices.IndexFunc(b.m.Columns, func(c meta.Column) bool { return c.Name == column })
}

// state returns the attributes that an asset had at a moment. v is its version at that moment.
func (x *history) state(t *meta.Type, id int64, v *rowOf, moment int64) shown {
	s := shown{}
	taken := map[int]bool{}
	for _, readOnly := range []bool{false, true} { // a column appears once, under its writable attribute
		for _, a := range t.Attrs {
			if a.Place.Kind == meta.InColumn && a.Place.Slot >= 0 && a.ReadOnly == readOnly && a.Name != "SecurityScope" && !taken[a.Place.Slot] {
				taken[a.Place.Slot] = true
				if c := v.columns[a.Place.Slot]; c.Valid {
					s[a.Name] = x.scalar(a, c.String)
				}
			}
		}
	}
	for _, a := range t.Attrs {
		switch a.Place.Kind {
		case meta.InColumn:
			if a.Place.Column == "state" {
				s[a.Name] = stateWords[v.state]
			}
		case meta.InAttrs:
			if has, ok := v.attrs[a.Place.Column]; ok {
				s[a.Name] = x.scalar(a, fmt.Sprint(has))
			}
		case meta.InLinks, meta.InLinksBack, meta.InValues:
			s[a.Name] = x.several(t, a, id, moment)
		}
	}
	return s
}

var stateWords = map[int64]string{0: "Future", 64: "Active", 128: "Closed", 200: "Template", 208: "Broken Down", 255: "Deleted"}

// several returns the values of a to-many relation or of a multi-value text. For the reverse of a to-one
// relation it returns "", because the activity stream records such a change only at the other asset.
func (x *history) several(t *meta.Type, a *meta.Attr, id, moment int64) string {
	var list []string
	from := x.links
	if a.Place.Kind == meta.InValues {
		from = x.values
	}
	for _, e := range from {
		if e.code != a.Place.Code || e.since > moment || e.until <= moment {
			continue
		}
		switch {
		case a.Place.Kind == meta.InLinksBack:
			if e.to == id && a.Back != nil && a.Back.Multi {
				list = append(list, x.reference(e.from))
			}
		case e.from != id || e.fromType != t.Code:
		case a.Place.Kind == meta.InValues:
			list = append(list, e.text)
		default:
			list = append(list, x.reference(e.to))
		}
	}
	slices.Sort(list)
	return strings.Join(list, between)
}

// reference returns how the activity stream shows an asset: by its name if it is a list value, otherwise by
// its Oid.
func (x *history) reference(id int64) string {
	t := x.types[id]
	if t == nil {
		return ""
	}
	if list, _ := x.m.Type("List"); t.IsA(list) {
		return x.names[id]
	}
	return oid.OID{Type: t.Name, ID: t.Shown(id)}.String()
}

// scalar returns a stored value in the form that it has in the activity stream.
func (x *history) scalar(a *meta.Attr, text string) string {
	switch a.Kind {
	case meta.Relation:
		id, _ := strconv.ParseInt(text, 10, 64)
		return x.reference(id)
	case meta.Numeric:
		f, _ := strconv.ParseFloat(text, 64)
		exact := strconv.FormatFloat(f, 'f', -1, 64)
		if two := strconv.FormatFloat(f, 'f', 2, 64); len(two) > len(exact) {
			return two
		}
		return exact
	case meta.State:
		n, _ := strconv.ParseInt(text, 10, 64)
		return stateWords[n]
	case meta.Date:
		micros, _ := strconv.ParseInt(text, 10, 64)
		at := time.UnixMicro(micros).UTC()
		if a.DateOnly {
			return at.Format(time.DateOnly)
		}
		return at.Format("2006-01-02T15:04:05.000")
	case meta.Blob:
		return ""
	}
	return text
}
