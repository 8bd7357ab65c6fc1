package sql

import "context"

// keysOfSome are the indexes of relations that most assets do not have.
var keysOfSome = []struct{ name, table, column, then string }{
	{"asset_parent", "asset", "parent_id", "order_key"},
	{"asset_super", "asset", "super_id", "order_key"},
	{"asset_timebox", "asset", "timebox_id", "order_key"},
	{"asset_team", "asset", "team_id", "order_key"},
	{"asset_version_of_parent", "asset_version", "parent_id", `moment", "until_moment`},
	{"asset_version_of_super", "asset_version", "super_id", `moment", "until_moment`},
}

// keyMaker makes each index of keysOfSome again, as a partial index without the assets that do
// not have the relation. Before, each write of an asset wrote all of these indexes.
type keyMaker struct {
	partial bool // the database has partial indexes; otherwise run does nothing
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
