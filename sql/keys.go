package sql

import "context"

// keysOfSome are keys by relations that most assets do not have.
var keysOfSome = []struct{ name, table, column, then string }{
	{"asset_parent", "asset", "parent_id", "order_key"},
	{"asset_super", "asset", "super_id", "order_key"},
	{"asset_timebox", "asset", "timebox_id", "order_key"},
	{"asset_team", "asset", "team_id", "order_key"},
	{"asset_version_of_parent", "asset_version", "parent_id", `moment", "until_moment`},
	{"asset_version_of_super", "asset_version", "super_id", `moment", "until_moment`},
}

// keyMaker leaves assets without a value out of the keys by relations that most do not
// have, where a database can: each write of an asset wrote them all.
type keyMaker struct {
	partial bool // the database has keys of some rows; else nothing is done
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
