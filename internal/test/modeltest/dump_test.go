package modeltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// database is a database, with the labels of the assets in it.
type database struct {
	d      *db.DB
	m      *meta.Model
	labels map[int64]string // labels, by stored id of the asset
	ids    map[string]int64 // stored ids, by label
	actors *auth.Service
}

// token returns the Oid for a stored id.
func (b *database) token(t *meta.Type, id int64) string {
	return t.Name + ":" + strconv.FormatInt(t.Shown(id), 10)
}

// name remembers the label of the asset with a stored id.
func (b *database) name(id int64, label string) { b.labels[id], b.ids[label] = label, id }

// silent are attributes that the model does not have. check.Run checks Numbers, and ranks are compared by
// their order. SecurityScope is compared only for notes, because for other types it repeats another
// attribute.
var silent = map[string]bool{"Number": true, "Order": true, "SecurityScope": true}

// dump reads the current content of the database. An asset without a label gets its Oid as label. Nothing
// in the model has such a label.
func (b *database) dump(ctx context.Context) (*world, error) {
	var w *world
	err := b.d.Read(ctx, func(tx *db.Tx) error { // Read calls this function again if the connection is lost
		w = &world{map[string]*thing{}, map[link]bool{}, map[[2]string]string{}, map[string][]string{}, map[string]string{}, map[string]int{}, 0}
		for _, read := range []func(context.Context, *db.Tx, *world) error{b.assets, b.edges, b.values, b.members, b.logins} {
			if err := read(ctx, tx, w); err != nil {
				return err
			}
		}
		return nil
	})
	return w, err
}

func each(ctx context.Context, tx *db.Tx, fn func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (b *database) assets(ctx context.Context, tx *db.Tx, w *world) error {
	var id, by int64
	var code, state, versions int
	var attrs sql.NullString
	slots := make([]sql.NullString, len(b.m.Columns))
	into := []any{&id, &code, &state, &versions, &by, &attrs}
	columns := ""
	for i, c := range b.m.Columns {
		into = append(into, &slots[i])
		columns += ", " + c.Name
	}
	return each(ctx, tx, func(scan func(...any) error) error {
		if err := scan(into...); err != nil {
			return err
		}
		t, _ := b.m.TypeByCode(code)
		if b.labels[id] == "" {
			b.name(id, b.token(t, id))
		}
		x := &thing{label: b.labels[id], typ: t.Name, nr: int(id), state: state, val: map[string]string{}, one: map[string]string{}, versions: versions}
		w.things[x.label] = x
		if by != 20 {
			x.one["CreatedBy"] = b.label(by, b.typ("Member"))
		}
		var object map[string]any
		if attrs.Valid {
			if err := json.Unmarshal([]byte(attrs.String), &object); err != nil {
				return err
			}
		}
		for _, a := range t.Attrs {
			b.attribute(x, a, slots, object)
		}
		if a, ok := t.Attr("Order"); ok && a.Place.Kind == meta.InColumn && id > 1000 && !t.IsA(b.typ("List")) {
			w.ranks[t.RankSpace] = append(w.ranks[t.RankSpace], x.label)
		}
		return nil
	}, `SELECT id, type, state, (SELECT COUNT(*) FROM asset_version v WHERE v.id = asset.id), created_by, attrs`+columns+` FROM asset ORDER BY order_key, id`)
}

func (b *database) typ(name string) *meta.Type {
	t, _ := b.m.Type(name)
	return t
}

func (b *database) attribute(x *thing, a *meta.Attr, slots []sql.NullString, object map[string]any) {
	switch {
	case silent[a.Name] && (a.Name != "SecurityScope" || x.typ != "Note"):
	case a.Place.Kind == meta.InColumn && a.Place.Slot >= 0 && slots[a.Place.Slot].Valid:
		text := slots[a.Place.Slot].String
		if a.Kind == meta.Relation {
			id, _ := strconv.ParseInt(text, 10, 64)
			x.one[a.Name] = b.label(id, a.Related)
			return
		}
		if a.Kind == meta.Numeric {
			f, _ := strconv.ParseFloat(text, 64)
			text = strconv.FormatFloat(f, 'g', -1, 64)
		}
		x.val[a.Name] = text
	case a.Place.Kind == meta.InAttrs && object[a.Place.Column] != nil:
		switch v := object[a.Place.Column].(type) {
		case string:
			x.val[a.Name] = v
		case float64:
			x.val[a.Name] = strconv.FormatFloat(v, 'g', -1, 64)
		case bool:
			x.val[a.Name] = strconv.FormatBool(v)
		}
	}
}

// label returns the label for a stored id, or the Oid if the asset has no label.
func (b *database) label(id int64, t *meta.Type) string {
	if b.labels[id] != "" {
		return b.labels[id]
	}
	return b.token(t, id)
}

func (b *database) edges(ctx context.Context, tx *db.Tx, w *world) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var relation int
		var from, to int64
		if err := scan(&relation, &from, &to); err != nil {
			return err
		}
		a, _ := b.m.LinkByCode(relation)
		x := w.things[b.labels[from]]
		if a.Multi {
			w.links[link{a.Name, x.label, b.labels[to]}] = true
		} else {
			x.one[a.Name] = b.labels[to]
		}
		return nil
	}, `SELECT relation, from_id, to_id FROM asset_link WHERE until_moment = ?`, db.Forever)
}

func (b *database) values(ctx context.Context, tx *db.Tx, w *world) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		x := w.things[b.labels[id]]
		x.tags = append(x.tags, text)
		slices.Sort(x.tags)
		return nil
	}, `SELECT from_id, value FROM asset_value WHERE until_moment = ?`, db.Forever)
}

func (b *database) members(ctx context.Context, tx *db.Tx, w *world) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var scope, member, role int64
		var owner bool
		if err := scan(&scope, &member, &role, &owner); err != nil {
			return err
		}
		text := b.labels[role]
		if owner {
			text += "*"
		}
		w.roles[[2]string{b.labels[scope], b.labels[member]}] = text
		return nil
	}, `SELECT scope_id, member_id, role_id, is_owner FROM scope_member WHERE until_moment = ?`, db.Forever)
}

func (b *database) logins(ctx context.Context, tx *db.Tx, w *world) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var id int64
		var name string
		if err := scan(&id, &name); err != nil {
			return err
		}
		w.logins[caseless(name)] = b.labels[id]
		return nil
	}, `SELECT member_id, username FROM credential`)
}
