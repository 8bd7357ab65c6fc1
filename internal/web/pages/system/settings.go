package system

import (
	"github.com/alds-dev/alds/internal/web/ui"
)

// settings can be changed while the service runs. Spec: interface 4.16.2.
type settings struct {
	StoryTrackingLevel, DefectTrackingLevel string
}

// choice is an option of a setting.
type choice struct {
	Level, Means string
	Chosen       bool
}

// tracking is a field in the form of settings.
type tracking struct {
	Name, Label string
	Choices     []choice
}

// Fields returns the fields of the form.
func (s settings) Fields() []tracking {
	return []tracking{
		{"StoryTrackingLevel", "Effort of stories", choices(s.StoryTrackingLevel)},
		{"DefectTrackingLevel", "Effort of defects", choices(s.DefectTrackingLevel)},
	}
}

func choices(now string) []choice {
	all := []choice{{"Mix", "on the item and on its tasks and tests", false}, {"On", "on the item only", false}, {"Off", "on its tasks and tests only", false}}
	for i := range all {
		all[i].Chosen = all[i].Level == now
	}
	return all
}

// changeSettings serves POST ui/system/settings.
func changeSettings(v *ui.Visit) error {
	to := map[string]string{}
	for _, f := range (settings{}).Fields() {
		if level := v.Field(f.Name); level != "" {
			to[f.Name] = level
		}
	}
	if err := v.API.Post("api/system/settings", to, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/system#settings")
}
