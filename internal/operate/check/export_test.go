package check

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// inPortions returns a checker that reads small portions, so that each check reads several
// portions.
func inPortions(tx *db.Tx, m *meta.Model) *checker {
	c := newChecker(tx, m)
	c.portion = 50
	return c
}

// RunIn does the same as Run, but in the transaction of a test.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	return walk(ctx, inPortions(tx, m), rules, func(Step) {})
}

// RunRule does the same as RunIn, but runs only one rule.
func RunRule(ctx context.Context, tx *db.Tx, m *meta.Model, name string) ([]Finding, error) {
	some := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.name != name })
	c := inPortions(tx, m)
	if tx.Dialect().Name == "sqlite" {
		c.portion = 2 // statements are cheap in SQLite
	}
	return walk(ctx, c, some, func(Step) {})
}

// LinkedFor is linkedFor.
func LinkedFor(n int64) int64 { return linkedFor(n) }
