package check

import (
	"context"
	"slices"
	"sync"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// known returns the schema that the migrations create. All tests share it.
var known = sync.OnceValues(func() (*built, error) { return new(checker).expected(context.Background()) })

// sharing returns a checker that does not run the migrations again.
func sharing(tx *db.Tx, m *meta.Model) *checker {
	b, err := known()
	if err != nil {
		panic(err)
	}
	c := newChecker(tx, m)
	c.built, c.portion = b, 50 // a small portion, so that checks read several parts
	return c
}

// RunIn does the same as Run in the transaction of a test.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	return walk(ctx, sharing(tx, m), rules, func(Step) {})
}

// RunRule does the same as RunIn with only one rule.
func RunRule(ctx context.Context, tx *db.Tx, m *meta.Model, name string) ([]Finding, error) {
	some := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.name != name })
	c := sharing(tx, m)
	if tx.Dialect().Name == "sqlite" {
		c.portion = 2 // statements are cheap in SQLite
	}
	return walk(ctx, c, some, func(Step) {})
}
