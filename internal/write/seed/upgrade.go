package seed

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// completedComment is the ChangeComment with which an upgrade sets attributes that never had a
// value.
const completedComment = "Set by an upgrade: the attribute had never had a value"

// withoutName returns the missing instances, except list values whose name already exists in their
// list, even as a deleted value. An administrator may have added the existing value, or deleted it on
// purpose.
func withoutName(ctx context.Context, tx *db.Tx, m *meta.Model, missing []meta.Instance) ([]meta.Instance, error) {
	list, ok := m.Type("List")
	if !ok {
		return missing, nil
	}
	names := map[int][]string{}
	for _, in := range missing {
		if in.Type.IsA(list) {
			names[in.Type.Code] = nil
		}
	}
	if len(names) == 0 {
		return missing, nil
	}
	codes, args := db.InArgs(slices.Sorted(maps.Keys(names)))
	query := `SELECT type, name FROM asset WHERE name IS NOT NULL AND type IN ` + codes
	err := db.Each(ctx, tx, query, args, func(scan db.Scanner) error {
		var code int
		var name string
		err := scan.Scan(&code, &name)
		names[code] = append(names[code], name)
		return err
	})
	return slices.DeleteFunc(missing, func(in meta.Instance) bool {
		return slices.ContainsFunc(names[in.Type.Code], func(name string) bool {
			return strings.EqualFold(strings.TrimSpace(name), in.Attrs["Name"])
		})
	}), err
}

// completeInstances sets those attributes of well-known assets that have no value in any version.
// These attributes were added to the model after the database was created.
func completeInstances(ctx context.Context, e *asset.Engine) error {
	d, m := e.DB(), e.Model()
	var lacking []*asset.Command
	err := d.Read(ctx, func(tx *db.Tx) (err error) {
		lacking, err = incomplete(ctx, tx, m, "")
		return err
	})
	if err != nil || len(lacking) == 0 {
		return err
	}
	req := asset.Request{ID: uuid.NewString(), Comment: completedComment}
	return e.Write(ctx, auth.System, req, func(s *asset.Session) error {
		lacking, err := incomplete(ctx, s.Tx(), m, d.Dialect.ForUpdate)
		if err != nil {
			return err
		}
		outcomes, err := s.Run(ctx, lacking)
		for _, o := range outcomes {
			if err == nil {
				err = o.Err
			}
		}
		return err
	})
}

// incomplete returns the updates for completeInstances. It only checks attributes in the JSON
// object, because the attributes in columns have existed as long as the assets. lock is empty or
// Dialect.ForUpdate.
func incomplete(ctx context.Context, tx *db.Tx, m *meta.Model, lock string) ([]*asset.Command, error) {
	all, ids := map[int64]*asset.Command{}, []int64(nil)
	for _, in := range m.Instances {
		id := in.Type.Stored(in.ID)
		if c := completingUpdate(in); len(c.Changes) > 0 {
			all[id] = c
			ids = append(ids, id)
		}
	}
	live := map[int64]bool{}
	lacks := func(id int64, has stored.Attrs) {
		live[id] = true
		c := all[id]
		c.Changes = slices.DeleteFunc(c.Changes, func(ch asset.Change) bool {
			return has.Has(ch.Name)
		})
	}

	left := func(id int64) bool { return live[id] && len(all[id].Changes) > 0 }
	if err := attrsOf(ctx, tx, `attrs FROM asset WHERE state < 255 AND id IN `, ids, lock, lacks); err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return !left(id) })
	ofVersions := db.OfVersion("v", "attrs") + ` FROM asset_version v WHERE id IN `
	if err := attrsOf(ctx, tx, ofVersions, ids, "", lacks); err != nil {
		return nil, err
	}
	var commands []*asset.Command
	for _, id := range ids {
		if left(id) {
			commands = append(commands, all[id])
		}
	}
	return commands, nil
}

// completingUpdate returns an update that sets all attributes of an instance that are stored in
// its JSON object.
func completingUpdate(in meta.Instance) *asset.Command {
	c := &asset.Command{Verb: asset.Update, Target: asset.Ref{OID: oid.OID{Type: in.Type.Name, ID: in.ID}}}
	for _, name := range slices.Sorted(maps.Keys(in.Attrs)) {
		if a, ok := in.Type.Attr(name); ok && a.Place.Kind == meta.InAttrs {
			value := asset.Value{Kind: asset.Text, Text: in.Attrs[name]}
			c.Changes = append(c.Changes, asset.Change{Name: name, Set: []asset.Value{value}})
		}
	}
	return c
}

// attrsOf calls fn with the id and the JSON object of each row of some assets. middle is the SQL
// between "SELECT id, " and the list of ids. It contains the expression of the object, the table,
// and the condition up to IN.
func attrsOf(
	ctx context.Context, tx *db.Tx, middle string, ids []int64, lock string, fn func(int64, stored.Attrs),
) error {
	if len(ids) == 0 {
		return nil
	}
	in, args := db.InArgs(ids)
	return db.Each(ctx, tx, `SELECT id, `+middle+in+` ORDER BY id`+lock, args, func(scan db.Scanner) error {
		var id int64
		var text *string
		if err := scan.Scan(&id, &text); err != nil {
			return err
		}
		if text == nil {
			text = new(string)
		}
		has, err := stored.Parse(*text)
		if err == nil {
			fn(id, has)
		}
		return err
	})
}
