package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
)

// Type codes of lists and of definitions.
const (
	typeStatus, typeSource                = 61, 63
	typeAssetType, typeScalar, typeToOne  = 120, 122, 124
	customType, customRelation            = 10000, 10000
	listValues                            = 100
	firstStatus, firstSource, firstOrigin = 5000, 5200, 5400
)

// customValue returns the Oid of the nth value of a relation's list.
func customValue(relation string, n int) string {
	switch relation {
	case "Status":
		return fmt.Sprintf("StoryStatus:%d", firstStatus+n)
	case "Source":
		return fmt.Sprintf("StorySource:%d", firstSource+n)
	}
	return fmt.Sprintf("Custom_OriginType:%d", firstOrigin+n)
}

// customDay and customText return the value of variant n, which is from 0 to 999.
func customDay(n int) time.Time { return began.AddDate(0, 0, n) }

func customText(n int) string { return fmt.Sprintf("Let the gardener order seeds of kind %d", n) }

var customColumns = strings.Fields(`id type state moment audit_id created_moment created_at created_by changed_at changed_by
	name number description scope_id parent_id status_id source_id category_id order_key estimate attrs custom_number_1 custom_date_1 custom_text_1`)

// fillCustom writes the definitions, the lists and n stories.
func fillCustom(ctx context.Context, d *db.DB, n int) error {
	types := map[string]int64{}
	for _, name := range []string{"Story", "List"} {
		var id int64
		if err := d.QueryRow(ctx, `SELECT id FROM asset WHERE type = ? AND name = ?`, typeAssetType, name).Scan(&id); err != nil {
			return err
		}
		types[name] = id
	}
	rows := definitions(types)
	for v := range listValues {
		for _, l := range []struct{ typ, first int }{{typeStatus, firstStatus}, {typeSource, firstSource}, {customType, firstOrigin}} {
			rows = append(rows, customRow(l.first+v, l.typ, fmt.Sprintf("Value %d", v), nil, v+1, "{}"))
		}
	}
	if err := rig.Insert(ctx, d, "asset", customColumns, len(rows), func(i int) []any { return rows[i] }); err != nil {
		return err
	}
	if err := d.Write(ctx, func(tx *db.Tx) error { return catalog.Raise(ctx, tx) }); err != nil {
		return err
	}
	if err := rig.Insert(ctx, d, "asset", customColumns, n, customStory); err != nil {
		return err
	}
	links := strings.Fields("relation from_type from_id to_id since_moment until_moment")
	err := rig.Insert(ctx, d, "asset_link", links, n, func(i int) []any {
		return []any{customRelation, typeStory, firstItem + i, firstOrigin + i*7919%listValues, firstMoment + i, db.Forever}
	})
	if err != nil {
		return err
	}
	for _, table := range []string{"asset", "asset_link"} {
		statement := "ANALYZE TABLE " + table
		if d.Dialect.Name == "sqlite" {
			statement = "ANALYZE " + table
		}
		if _, err := d.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// definitions returns the rows of the custom list and the custom attributes.
func definitions(types map[string]int64) [][]any {
	const list = 4000
	rows := [][]any{customRow(list, typeAssetType, "Custom_OriginType", types["List"], 1, fmt.Sprintf(`{"Code": %d}`, customType))}
	for _, a := range []struct {
		name, kind string
		code       int
	}{
		{"Custom_Number", "Numeric", 1},
		{"Custom_Date", "Date", 1},
		{"Custom_Text", "Text", 1},
		{"Custom_NumberJSON", "Numeric", 0},
		{"Custom_DateJSON", "Date", 0},
		{"Custom_TextJSON", "Text", 0},
	} {
		id := list + len(rows)
		rows = append(rows, customRow(id, typeScalar, a.name, types["Story"], id, fmt.Sprintf(`{"AttributeType": %q, "Code": %d}`, a.kind, a.code)))
	}
	relation := customRow(list+len(rows), typeToOne, "Custom_Origin", types["Story"], 9, fmt.Sprintf(`{"AttributeType": "Relation", "Code": %d}`, customRelation))
	relation[17] = int64(list)
	return append(rows, relation)
}

// customRow returns the row of an asset that is not a story.
func customRow(id, typ int, name string, parent any, order int, attrs string) []any {
	made := began.UnixMicro()
	return []any{
		id, typ, active, id, filledAudit, id, made, admin, made, admin,
		name, nil, nil, nil, parent, nil, nil, nil, order, nil, attrs, nil, nil, nil,
	}
}

// customStory returns the row of the ith story. Attributes that are compared have equal values.
func customStory(i int) []any {
	n := i * 7919 % 1000
	number, day, text, value := float64(n)+0.5, customDay(n).UnixMicro(), customText(n), i*7919%listValues
	return []any{
		firstItem + i, typeStory, active, firstMoment + i, filledAudit, firstMoment + i, day, admin, began.UnixMicro(), admin,
		text, fmt.Sprintf("S-%05d", i), description, 0, nil, firstStatus + value, firstSource + value, nil, i + 1, number,
		fmt.Sprintf(`{"Reference":"REF-%d","Custom_NumberJSON":%g,"Custom_DateJSON":%d,"Custom_TextJSON":%q}`, i, number, day, text), number, day, text,
	}
}
