package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"
	"gorm.io/plugin/dbresolver"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Gorm returns a gorm handle for plain tables that runs each statement as a separate transaction.
// Reads use the connections for reads, and writes use the connections for writes. Its errors have a
// kind.
func (d *DB) Gorm(ctx context.Context) *gorm.DB {
	return d.gorm.WithContext(ctx)
}

// lookupPool is the name of the pool of Lookup in gorm's resolver of connections.
const lookupPool = "lookup"

func (d *DB) openGorm() (*gorm.DB, error) {
	g, err := gorm.Open(d.dialector(d.writer), &gorm.Config{
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		TranslateError:         true,
		Logger:                 gormLog{d.log.With("component", "gorm")},
		NowFunc:                func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		return nil, err
	}
	return g, g.Use(dbresolver.
		Register(dbresolver.Config{Replicas: []gorm.Dialector{d.dialector(d.reader)}}).
		Register(dbresolver.Config{Replicas: []gorm.Dialector{d.dialector(d.lookups)}}, lookupPool))
}

func (d *DB) dialector(pool *sql.DB) gorm.Dialector {
	if d.Dialect.mysql {
		return mysqlDialector{mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}).(*mysql.Dialector)}
	}
	return sqliteDialector{pool}
}

// gormOn returns a gorm session whose statements go to pool.
func gormOn(ctx context.Context, g *gorm.DB, pool gorm.ConnPool) *gorm.DB {
	s := g.Session(&gorm.Session{NewDB: true, Context: ctx})
	s.Statement.ConnPool = pool
	return s
}

// txPool runs gorm's statements in a Tx. The resolver treats it as a transaction because it
// is a gorm.TxCommitter.
type txPool struct{ t *Tx }

var errNotGorms = errors.New("the transaction is ended by db.Write, not by gorm")

func (p *txPool) Commit() error   { return errNotGorms }
func (p *txPool) Rollback() error { return errNotGorms }

func (p *txPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := p.t.flush(ctx); err != nil {
		return nil, err
	}
	return p.t.tx.PrepareContext(p.t.contextOf(ctx), query)
}

func (p *txPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.t.Exec(ctx, query, args...)
}

func (p *txPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.t.Query(ctx, query, args...)
}

func (p *txPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := p.t.flush(ctx); err != nil && p.t.aborted == nil {
		p.t.aborted = err // the row cannot carry the error
	}
	return p.t.tx.QueryRowContext(p.t.contextOf(ctx), query, args...)
}

// mysqlDialector is gorm's dialector with the errors of alds.
type mysqlDialector struct{ *mysql.Dialector }

// Translate converts an error to a fault with a kind.
func (mysqlDialector) Translate(err error) error { return sqlerror.Fault(err) }

// Migrator returns a migrator that refuses changes, because only package sql changes the schema.
func (m mysqlDialector) Migrator(g *gorm.DB) gorm.Migrator { return newNoMigrator(g, m) }

// noMigrator refuses to change the schema.
type noMigrator struct{ migrator.Migrator }

func newNoMigrator(g *gorm.DB, d gorm.Dialector) noMigrator {
	return noMigrator{migrator.Migrator{Config: migrator.Config{DB: g, Dialector: d}}}
}

// AutoMigrate returns an error.
func (noMigrator) AutoMigrate(...any) error {
	return errors.New("the schema is changed by numbered migrations only")
}

// sqliteDialector is a gorm.Dialector with only the parts that alds needs. It exists because the
// drivers of gorm for SQLite do not accept the collation of alds.
type sqliteDialector struct{ pool gorm.ConnPool }

// Name returns "sqlite".
func (sqliteDialector) Name() string { return "sqlite" }

// Initialize sets up gorm's callbacks, and the clauses that have another form in SQLite than in
// gorm.
func (s sqliteDialector) Initialize(g *gorm.DB) error {
	g.ConnPool = s.pool
	callbacks.RegisterDefaultCallbacks(g, &callbacks.Config{})
	g.ClauseBuilders["FOR"] = func(clause.Clause, clause.Builder) {} // SQLite has only one writer
	g.ClauseBuilders["LIMIT"] = func(c clause.Clause, b clause.Builder) {
		limit, ok := c.Expression.(clause.Limit)
		if !ok {
			return
		}
		if limit.Limit == nil && limit.Offset > 0 {
			all := -1
			_, _ = b.WriteString("LIMIT ")
			b.AddVar(b, all)
			_, _ = b.WriteString(" OFFSET ")
			b.AddVar(b, limit.Offset)
			return
		}
		limit.Build(b)
	}
	return nil
}

// Migrator returns a migrator that refuses changes, because only package sql changes the schema.
func (s sqliteDialector) Migrator(g *gorm.DB) gorm.Migrator { return newNoMigrator(g, s) }

// DataTypeOf returns "", because only a migrator needs the type of a column.
func (sqliteDialector) DataTypeOf(*schema.Field) string { return "" }

// DefaultValueOf returns NULL, SQLite's form of a default.
func (sqliteDialector) DefaultValueOf(*schema.Field) clause.Expression {
	return clause.Expr{SQL: "NULL"}
}

// BindVarTo writes a placeholder.
func (sqliteDialector) BindVarTo(w clause.Writer, _ *gorm.Statement, _ any) { _ = w.WriteByte('?') }

// QuoteTo writes an identifier. It puts each part between dots in quotes.
func (sqliteDialector) QuoteTo(w clause.Writer, ident string) {
	for i, part := range strings.Split(ident, ".") {
		if i > 0 {
			_ = w.WriteByte('.')
		}
		_, _ = w.WriteString(sqliteDialect().Quote(part))
	}
}

// Explain returns the statement without its values, which must not appear in logs.
func (sqliteDialector) Explain(query string, _ ...any) string { return query }

// Translate converts an error to a fault with a kind.
func (sqliteDialector) Translate(err error) error { return sqlerror.Fault(err) }

// gormLog adapts gorm's logger to slog. It logs only failures, at the level Debug, since the caller
// handles them.
type gormLog struct{ log *slog.Logger }

func (l gormLog) LogMode(logger.LogLevel) logger.Interface    { return l }
func (l gormLog) Info(context.Context, string, ...any)        {}
func (l gormLog) Warn(context.Context, string, ...any)        {}
func (l gormLog) Error(_ context.Context, m string, _ ...any) { l.log.Debug("gorm", "message", m) }

// Trace is called after each statement. It never logs values.
func (l gormLog) Trace(ctx context.Context, begin time.Time, _ func() (string, int64), err error) {
	if err != nil && l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "gorm statement failed", "duration_ms", time.Since(begin).Milliseconds(), "err", err)
	}
}
