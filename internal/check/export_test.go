package check

import (
	"context"
	"slices"
	"sync"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// known is what the migrations make, which no test changes.
var known = sync.OnceValues(func() (*built, error) { return new(checker).expected(context.Background()) })

// Sharing returns a context with which no check runs the migrations again.
func Sharing(ctx context.Context) context.Context {
	b, err := known()
	if err != nil {
		panic(err)
	}
	return context.WithValue(ctx, builtKey{}, b)
}

// RunIn is Run inside a transaction that the test rolls back.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	return walk(Sharing(ctx), newChecker(tx, m), rules, func(Step) {})
}

// RunRule is RunIn of one rule.
func RunRule(ctx context.Context, tx *db.Tx, m *meta.Model, name string) ([]Finding, error) {
	some := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.name != name })
	return walk(Sharing(ctx), newChecker(tx, m), some, func(Step) {})
}
