package catalog

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/store/db"
)

// Level says where the effort of a story or defect is recorded.
type Level string

// The levels.
const (
	Mix Level = "Mix" // effort is recorded on the story or defect, and on its tasks and tests
	On  Level = "On"  // effort is recorded only on the story or defect
	Off Level = "Off" // effort is recorded only on the tasks and tests of the story or defect
)

// IsLevel reports whether a text is a level.
func IsLevel(text string) bool {
	return text == string(Mix) || text == string(On) || text == string(Off)
}

// Tracking says where to-do, detail estimate and effort are recorded. Administrators set it. Every
// process reads it together with the model. Spec: docs/interface.md, section 4.16.2.
type Tracking struct{ Story, Defect Level }

// The names of the settings.
const (
	StoryTracking  = "StoryTrackingLevel"
	DefectTracking = "DefectTrackingLevel"
)

// ReadTracking reads the levels. A level that was never set, or that this release does not
// have, is Mix.
func ReadTracking(ctx context.Context, q db.Querier) (Tracking, error) {
	t := Tracking{Mix, Mix}
	err := db.Each(ctx, q, `SELECT name, value FROM setting WHERE name IN (?, ?)`, []any{StoryTracking, DefectTracking}, func(scan db.Scanner) error {
		var name, text string
		if err := scan.Scan(&name, &text); err != nil || !IsLevel(text) {
			return err
		}
		if name == StoryTracking {
			t.Story = Level(text)
		} else {
			t.Defect = Level(text)
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("read the settings: %w", err)
	}
	return t, nil
}

// StoreTracking sets the levels and returns the names of the settings that changed. A change raises
// the model's generation, so writes that began with the old levels run again with the new levels.
func StoreTracking(ctx context.Context, tx *db.Tx, to Tracking) (changed []string, err error) {
	was, err := ReadTracking(ctx, tx)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, s := range []struct {
		name    string
		was, to Level
	}{{StoryTracking, was.Story, to.Story}, {DefectTracking, was.Defect, to.Defect}} {
		if s.was != s.to {
			changed, rows = append(changed, s.name), append(rows, []any{s.name, string(s.to)})
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if err := db.UpsertN(ctx, tx, "setting", []string{"name", "value"}, []string{"name"}, []string{"value"}, len(rows), func(i int) []any { return rows[i] }); err != nil {
		return nil, fmt.Errorf("store the settings: %w", err)
	}
	return changed, Raise(ctx, tx)
}
