package db_test

import (
	"database/sql"
	"testing"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// poolOf returns the name of the pool whose connection the rows use.
func poolOf(t *testing.T, d *db.DB, rows *sql.Rows, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	used := ""
	for _, p := range d.Pools() {
		if p.Used > 0 {
			used += p.Name
		}
	}
	return used
}

func TestGormReadsAndWritesOnTheirPools(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		read := func(g *gorm.DB) string {
			rows, err := g.Model(&sessionRow{}).Rows()
			return poolOf(t, d, rows, err)
		}
		if got := read(d.Gorm(t.Context())); got != "other" {
			t.Errorf("a read runs on %q", got)
		}
		if got := read(d.Lookup().Gorm(t.Context())); got != "lookup" {
			t.Errorf("a lookup runs on %q", got)
		}
		rows, err := d.Lookup().Gorm(t.Context()).Raw("UPDATE session SET member_id = 1").Rows()
		if got := poolOf(t, d, rows, err); got != "write" {
			t.Errorf("a write of a lookup runs on %q", got)
		}
		err = d.Write(t.Context(), func(tx *db.Tx) error {
			if got := read(tx.Gorm()); got != "write" {
				t.Errorf("a read of a transaction runs on %q", got)
			}
			if tx.Gorm().Commit().Error == nil {
				t.Error("gorm ended the transaction")
			}
			return tx.Gorm().Create(&sessionRow{IDHash: "a", MemberID: 1}).Error
		})
		var n int64
		if count := d.Lookup().Gorm(t.Context()).Model(&sessionRow{}).Count(&n).Error; err != nil || count != nil || n != 1 {
			t.Errorf("%d rows, %v, %v", n, err, count)
		}
	})
}
