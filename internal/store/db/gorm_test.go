package db_test

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

type sessionRow struct {
	IDHash    string `gorm:"column:id_hash;primaryKey"`
	MemberID  int64
	CreatedAt int64 `gorm:"autoCreateTime:false"`
	ExpiresAt int64
}

func (sessionRow) TableName() string { return "session" }

func TestGorm(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		g := d.Gorm(ctx)
		row := sessionRow{IDHash: "a", MemberID: 20, CreatedAt: 5, ExpiresAt: 9}
		if err := g.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		if err := g.Create(&row).Error; fault.KindOf(err) != fault.Conflict {
			t.Errorf("the same row again: %v", err)
		}
		if err := d.Gorm(ctx).First(&sessionRow{}, "id_hash = ?", "b").Error; fault.KindOf(err) != fault.NotFound {
			t.Errorf("no such row: %v", err)
		}
		err := d.Write(ctx, func(tx *db.Tx) error {
			if err := tx.Gorm().Model(&sessionRow{}).Where("id_hash = ?", "a").Update("expires_at", 10).Error; err != nil {
				return err
			}
			var inside sessionRow
			if err := tx.Gorm().First(&inside, "id_hash = ?", "a").Error; err != nil || inside.ExpiresAt != 10 {
				t.Errorf("inside: %+v, %v", inside, err)
			}
			return gorm.ErrInvalidData
		})
		var after []sessionRow
		if find := d.Gorm(ctx).Order("id_hash").Offset(0).Limit(5).Find(&after).Error; err == nil || find != nil || len(after) != 1 || after[0] != row {
			t.Errorf("after it failed: %+v, %v, %v", after, err, find)
		}
		if err := d.Gorm(ctx).Offset(1).Find(&after).Error; d.Dialect.Name == "sqlite" && (err != nil || len(after) != 0) {
			t.Errorf("an offset alone: %+v, %v", after, err)
		}
		if err := d.Gorm(ctx).AutoMigrate(&sessionRow{}); err == nil {
			t.Error("AutoMigrate ran")
		}
	})
}
