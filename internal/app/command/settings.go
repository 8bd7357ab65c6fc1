package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/operate/system"
)

// settingsCommand shows the settings that administrators change while the service runs, or
// changes some of them.
type settingsCommand struct {
	Set []settingFlag `arg:"" optional:"" name:"name=level" help:"StoryTrackingLevel or DefectTrackingLevel, and On, Off or Mix. Running processes use the new level within two seconds."`
}

// settingFlag is one setting with its level.
type settingFlag struct{ name, level string }

// UnmarshalText reads NAME=LEVEL.
func (f *settingFlag) UnmarshalText(text []byte) error {
	var ok bool
	if f.name, f.level, ok = strings.Cut(string(text), "="); !ok {
		return fmt.Errorf("%s is not of the form NAME=LEVEL, such as StoryTrackingLevel=Off", text)
	}
	return nil
}

// Run changes the named settings, all or none of them, and prints all settings.
func (c settingsCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		to := map[string]string{}
		for _, f := range c.Set {
			if _, twice := to[f.name]; twice {
				return fmt.Errorf("%s is named twice", f.name)
			}
			to[f.name] = f.level
		}
		t, err := system.SetSettings(ctx, i.DB, 0, to)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(o.stdout, "%s=%s\n%s=%s\n", catalog.StoryTracking, t.Story, catalog.DefectTracking, t.Defect)
		return err
	})
}
