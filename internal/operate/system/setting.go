package system

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/store/db"
)

// Settings contains the settings that administrators can change at runtime, in the form that
// clients read.
type Settings struct {
	Type   string        `json:"_type"`
	Story  catalog.Level `json:"StoryTrackingLevel"`
	Defect catalog.Level `json:"DefectTrackingLevel"`
}

// Settings returns the settings of the installation. The error has the kind fault.Denied if the
// actor is not a system administrator.
// Spec: interface 4.16.2.
func (s *Service) Settings(ctx context.Context, who auth.Actor) (Settings, error) {
	if err := mayRead(who); err != nil {
		return Settings{}, err
	}
	t, err := catalog.ReadTracking(ctx, s.db)
	return settingsOf(t), err
}

func settingsOf(t catalog.Tracking) Settings {
	return Settings{Type: "Settings", Story: t.Story, Defect: t.Defect}
}

// ChangeSettings changes the settings that the body contains, and returns all settings. yaml means
// that the body is YAML. The error has the kind fault.Denied if the actor is not a system
// administrator, and fault.Invalid for an invalid body.
// Spec: interface 4.16.2.
func (s *Service) ChangeSettings(ctx context.Context, who auth.Actor, body []byte, yaml bool) (Settings, error) {
	if err := mayRead(who); err != nil {
		return Settings{}, err
	}
	to, err := parseSettings(body, yaml)
	if err != nil {
		return Settings{}, err
	}
	t, err := SetSettings(ctx, s.db, who.Member, to)
	if err != nil {
		return Settings{}, err
	}
	if s.o.Changed != nil {
		s.o.Changed(ctx)
	}
	return settingsOf(t), nil
}

// SetSettings changes settings, and records the member in the audit trail. The parameter to has the
// names of settings as keys, and the new levels as values. member is 0 for a command of an
// operator. The error has the kind fault.Invalid for an unknown name or level.
func SetSettings(ctx context.Context, d *db.DB, member int64, to map[string]string) (t catalog.Tracking, err error) {
	for name, level := range to {
		if name != catalog.StoryTracking && name != catalog.DefectTracking {
			return t, fault.Invalidf(fault.NoPlace, "There is no setting %s", name)
		}
		if !catalog.IsLevel(level) {
			return t, badLevel(fault.NoPlace, name)
		}
	}
	err = d.Write(db.WithMember(ctx, member), func(tx *db.Tx) error {
		if t, err = catalog.ReadTracking(ctx, tx); err != nil {
			return err
		}
		if level, ok := to[catalog.StoryTracking]; ok {
			t.Story = catalog.Level(level)
		}
		if level, ok := to[catalog.DefectTracking]; ok {
			t.Defect = catalog.Level(level)
		}
		changed, err := catalog.StoreTracking(ctx, tx, t)
		if err != nil || len(changed) == 0 {
			return err
		}
		return trail.Record(ctx, tx, trail.Event{
			Kind: trail.SettingsChanged, Actor: member, Detail: trail.Detail{Changed: changed},
		})
	})
	if err != nil {
		return t, fmt.Errorf("set the settings: %w", err)
	}
	return t, nil
}

// parseSettings reads a body such as {"StoryTrackingLevel": "Off"}. It replaces null with the level
// Mix. The error has the kind fault.Invalid.
func parseSettings(body []byte, yaml bool) (map[string]string, error) {
	docs, err := document.Parse(body, yaml)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map {
		return nil, fault.Invalidf(0, "The body must be an object of settings")
	}
	to := map[string]string{}
	for i, name := range docs[0].Keys {
		v := docs[0].Items[i]
		text := v.Text
		switch {
		case name != catalog.StoryTracking && name != catalog.DefectTracking:
			return nil, fault.Invalidf(v.At, "Invalid key at node(s): root->%s", name)
		case v.Kind == document.Null:
			text = string(catalog.Mix)
		case v.Kind != document.String || !catalog.IsLevel(text):
			return nil, badLevel(v.At, name)
		}
		to[name] = text
	}
	return to, nil
}

func badLevel(at int, name string) error {
	return fault.Invalidf(at, "%s must be On, Off or Mix", name)
}
