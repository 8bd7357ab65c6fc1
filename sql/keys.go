package sql

import "context"

// keysOfSome lists the indexes of relations that most assets do not have, such as parent_id. The
// fields column and then contain the columns of the index, in this order.
var keysOfSome = []struct{ name, table, column, then string }{
	{"asset_parent", "asset", "parent_id", "order_key"},
	{"asset_super", "asset", "super_id", "order_key"},
	{"asset_timebox", "asset", "timebox_id", "order_key"},
	{"asset_team", "asset", "team_id", "order_key"},
	{"asset_version_of_parent", "asset_version", "parent_id", `moment", "until_moment`},
	{"asset_version_of_super", "asset_version", "super_id", `moment", "until_moment`},
}

// keyMaker drops each index of keysOfSome and creates it again as a partial index. The new index
// has only the assets that have the relation. The old index had all assets, so every write of an
// asset also wrote the index.
type keyMaker struct {
	partial bool // true if the database has partial indexes; otherwise run does nothing
}

func (k keyMaker) run(ctx context.Context, r Runner) error {
	if !k.partial {
		return nil
	}
	for _, x := range keysOfSome {
		for _, statement := range []string{
			`DROP INDEX IF EXISTS "` + x.name + `"`,
			`CREATE INDEX "` + x.name + `" ON "` + x.table + `" ("` + x.column + `", "` + x.then + `") WHERE "` + x.column + `" IS NOT NULL`,
		} {
			if _, err := r.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}
