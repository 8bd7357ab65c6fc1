package describe

import (
	"strconv"

	"github.com/alds-dev/alds/internal/model/value"
)

// Configuration lists the features of the service for clients, which read it before they show
// anything. Existing clients compare the values literally.
type Configuration struct {
	XML, JSON Document
}

// setting is one line of a configuration.
type setting struct{ key, value string }

// NewConfiguration describes a service with attachments of up to maxAttachment bytes. story
// and defect are the levels at which effort is recorded. version is four integers.
//
// Effort is tracked: every workitem has its own Actuals, DetailEstimate and ToDo. Capacity is
// planned with assets of the type Capacity.
// Spec: interface 4.11.
func NewConfiguration(version string, maxAttachment int, story, defect string) *Configuration {
	settings := []setting{
		{"EffortTracking", "True"},
		{"StoryTrackingLevel", story},
		{"DefectTrackingLevel", defect},
		{"MaximumAttachmentSize", strconv.Itoa(maxAttachment)},
		{"CapacityPlanning", "On"},
	}
	return &Configuration{XML: NewDocument(configurationXML(version, settings)), JSON: NewDocument(configurationJSON(version, settings))}
}

// configurationXML writes settings for existing clients. The values need no escapes.
func configurationXML(version string, settings []setting) []byte {
	w := []byte(value.XMLDeclaration + `<Configuration version="` + version + `">`)
	for _, s := range settings {
		w = append(w, `<Setting key="`+s.key+`" value="`+s.value+`"/>`...)
	}
	return append(w, `</Configuration>`...)
}

// configurationJSON writes the same settings as {"Version", "Settings": {…}}.
func configurationJSON(version string, settings []setting) []byte {
	w := value.AppendString([]byte(`{"Version":`), version)
	w = append(w, `,"Settings":{`...)
	for i, s := range settings {
		w = key(w, i, s.key)
		w = value.AppendString(w, s.value)
	}
	return append(w, `}}`...)
}
