package describe

import (
	"strconv"

	"github.com/alds-dev/alds/internal/value"
)

// Configuration is what clients ask before they show anything: which of its
// features the service has. The values are words that existing clients compare.
type Configuration struct {
	XML, JSON Document
}

// setting is one line of a configuration.
type setting struct{ key, value string }

// NewConfiguration describes a service that takes attachments of up to so many bytes, and
// effort where the levels of stories and defects say. version is four integers.
//
// Effort is tracked: every workitem has Actuals, DetailEstimate and ToDo of its own.
// Capacity is planned, by assets of the type Capacity.
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

// configurationXML writes settings for existing clients. The values need no escape.
func configurationXML(version string, settings []setting) []byte {
	w := []byte(value.XMLDeclaration + `<Configuration version="` + version + `">`)
	for _, s := range settings {
		w = append(w, `<Setting key="`+s.key+`" value="`+s.value+`"/>`...)
	}
	return append(w, `</Configuration>`...)
}

// configurationJSON writes the same as {"Version", "Settings": {…}}.
func configurationJSON(version string, settings []setting) []byte {
	w := value.AppendString([]byte(`{"Version":`), version)
	w = append(w, `,"Settings":{`...)
	for i, s := range settings {
		w = key(w, i, s.key)
		w = value.AppendString(w, s.value)
	}
	return append(w, `}}`...)
}
