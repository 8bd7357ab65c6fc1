package check

import (
	"context"
	"slices"
	"sync"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// known is what the migrations make, which no test changes.
var known = sync.OnceValues(func() (*built, error) { return new(checker).expected(context.Background()) })

// sharing returns a checker that does not run the migrations again.
func sharing(tx *db.Tx, m *meta.Model) *checker {
	b, err := known()
	if err != nil {
		panic(err)
	}
	c := newChecker(tx, m)
	c.built, c.portion = b, 50 // so that what a check compares lies in several parts
	return c
}

// RunIn is Run inside a transaction that the test rolls back.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	return walk(ctx, sharing(tx, m), rules, func(Step) {})
}

// RunRule is RunIn of one rule.
func RunRule(ctx context.Context, tx *db.Tx, m *meta.Model, name string) ([]Finding, error) {
	some := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.name != name })
	c := sharing(tx, m)
	if tx.Dialect().Name == "sqlite" {
		c.portion = 2 // statements cost little
	}
	return walk(ctx, c, some, func(Step) {})
}
