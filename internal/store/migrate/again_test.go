package migrate

import (
	"context"
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// answers is a schema.Runner for a test. Each statement gets the next error number as its error; 0
// means no error.
type answers []uint16

func (a *answers) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	panic("nothing is read")
}

func (a *answers) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	number := (*a)[0]
	*a = (*a)[1:]
	if number == 0 {
		return nil, nil
	}
	return nil, &mysql.MySQLError{Number: number, Message: "told by a test"}
}

// A statement of a migration runs again if another node was first, or if a node failed in its
// commit. In the second case the row of the statement may already exist.
func TestMigrationsGoOn(t *testing.T) {
	for _, c := range []struct {
		answers answers
		ok      bool
	}{
		{answers{1213, 1180, 0}, true},
		{answers{1180, 1062}, true},
		{answers{1213, 1062}, false},
		{answers{1062}, false},
		{answers{1064}, false},
		{answers{1180, 1180, 1180, 1180, 1180}, false},
	} {
		asked := c.answers
		err := execAgain(t.Context(), &asked, "a statement")
		if (err == nil) != c.ok || len(asked) > 0 {
			t.Errorf("%v: %v, and %d answers are left", c.answers, err, len(asked))
		}
	}
}
