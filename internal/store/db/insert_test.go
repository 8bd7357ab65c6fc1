package db_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestInsertWritesEveryRowWhateverTheCount(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		id := 0
		for _, n := range []int{0, 1, 3, 49, 50, 51, 501, 1234} {
			err := d.Write(ctx, func(tx *db.Tx) error {
				return db.InsertN(ctx, tx, "tree_lock", []string{"name"}, n, func(int) []any { id++; return []any{fmt.Sprintf("row %d", id)} })
			})
			if err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
		}
		var count int
		if err := d.QueryRow(ctx, "SELECT COUNT(*) FROM tree_lock WHERE name LIKE 'row %'").Scan(&count); err != nil || count != id {
			t.Errorf("%d rows of %d, %v", count, id, err)
		}
		err := db.Insert(ctx, d, "tree_lock", []string{"name"}, [][]any{{"row 1"}})
		if fault.KindOf(err) != fault.Conflict {
			t.Errorf("a row that is there: %v", err)
		}
	})
}

// TestInsertOfLongTexts inserts texts that together are larger than a server accepts at once.
func TestInsertOfLongTexts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		long := strings.Repeat("x", 200_000)
		err := d.Write(ctx, func(tx *db.Tx) error {
			return db.InsertN(ctx, tx, "bulk_request", []string{"id", "actor_id", "body_hash", "status", "request", "created_at", "expires_at"}, 200,
				func(i int) []any { return []any{fmt.Sprint(i), i, "", 0, long, 0, 0} })
		})
		var bytes int
		if err == nil {
			err = d.QueryRow(ctx, "SELECT SUM(LENGTH(request)) FROM bulk_request").Scan(&bytes)
		}
		if err != nil || bytes != 200*len(long) {
			t.Errorf("%d bytes, %v", bytes, err)
		}
	})
}

func TestUpsert(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		insert := "INSERT INTO sequence (name, value, stamped_at) VALUES (?, ?, 0)"
		for _, update := range [][]string{nil, {"value", "stamped_at"}} {
			if _, err := d.Exec(ctx, insert+d.Dialect.Upsert([]string{"name"}, update), "id", 7); err != nil {
				t.Fatal(err)
			}
			want := int64(1000)
			if update != nil {
				want = 7
			}
			if got := value(t, d, "id"); got != want {
				t.Errorf("update %v: value %d, want %d", update, got, want)
			}
		}
	})
}

func TestJSONExpressions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		columns := strings.Fields("id type state moment audit_id created_moment created_at created_by changed_at changed_by attrs")
		attrs := `{"Text": "Größe", "Num": 1.5, "Big": 1790000000123457, "Yes": true, "No": false, "odd\"k'": "x"}`
		if err := db.Insert(ctx, d, "asset", columns, [][]any{{1001, 1, 0, 1, 1, 1, 1, 1, 1, 1, attrs}}); err != nil {
			t.Fatal(err)
		}
		x := d.Dialect
		var text, odd string
		var number float64
		var big, yes, no, none, alike int64
		err := d.QueryRow(ctx, "SELECT "+strings.Join([]string{
			x.JSONText("attrs", "Text"), x.JSONText("attrs", `odd"k'`), x.JSONNumber("attrs", "Num"), x.JSONInt("attrs", "Big"),
			x.JSONBool("attrs", "Yes"), x.JSONBool("attrs", "No"), "COALESCE(" + x.JSONBool("attrs", "None") + ", 9)",
			"CASE WHEN " + x.JSONText("attrs", "Text") + " = ? THEN 1 ELSE 0 END",
		}, ", ")+" FROM asset", "GRÖSSE").Scan(&text, &odd, &number, &big, &yes, &no, &none, &alike)
		if err != nil {
			t.Fatal(err)
		}
		if text != "Größe" || odd != "x" || number != 1.5 || big != 1790000000123457 || yes != 1 || no != 0 || none != 9 || alike != 1 {
			t.Error(text, odd, number, big, yes, no, none, alike)
		}
	})
}

func TestNowIsUTCMicroseconds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		var a, b int64
		if err := d.QueryRow(context.Background(), "SELECT "+d.Dialect.NowMicros).Scan(&a); err != nil {
			t.Fatal(err)
		}
		if err := d.QueryRow(context.Background(), "SELECT "+d.Dialect.NowMicros).Scan(&b); err != nil || b < a || a < 1_700_000_000_000_000 {
			t.Errorf("%d then %d, %v", a, b, err)
		}
	})
}

// TestNowMillisIsOneLook checks that the expression NowMillis reads the clock once. If a
// millisecond ended between two reads, the result could have a fraction of a millisecond, or go
// back.
func TestNowMillisIsOneLook(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		var broken int
		err := d.QueryRow(context.Background(), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200),"+
			" t(at) AS (SELECT "+d.Dialect.NowMillis+" FROM n JOIN n m) SELECT COUNT(*) FROM t WHERE at % 1000 <> 0").Scan(&broken)
		if err != nil || broken > 0 {
			t.Errorf("%d of 40,000 are no whole milliseconds, %v", broken, err)
		}
		var apart int64
		if err := d.QueryRow(context.Background(), "SELECT "+d.Dialect.NowMicros+" - ("+d.Dialect.NowMillis+")").Scan(&apart); err != nil || apart < -10_000_000 || apart > 10_000_000 {
			t.Errorf("it is %d microseconds from the clock, %v", apart, err)
		}
	})
}

func TestIn(t *testing.T) {
	if text, args := db.InArgs([]int64{7, 8, 9}); text != "(?,?,?,?)" || fmt.Sprint(args) != "[7 8 9 9]" {
		t.Error(text, args)
	}
	if text, args := db.InArgs([]int64(nil)); text != "(NULL)" || len(args) != 0 {
		t.Error(text, args)
	}
}
