package asset

import "strings"

// ContextDefault is a row of contextDefaults, for the test of docs/contexts.md.
type ContextDefault struct {
	Made, In []string // types of the new asset and of the context; nil: any type
	Attr     string
	Line     string // the line of the table in the document
}

var origins = map[origin]string{
	contextItself: "it", contextScope: "the project it lies in", sameAttribute: "its `%`", actingMember: "the caller", today: "today, in UTC",
	futureState: "`State:100`, Future", scheduleName: "the schedule's `Name` and the next number",
	scheduleBegin: "the end of the schedule's last timebox plus the schedule's `TimeboxGap`; for the schedule's first timebox, today",
	scheduleEnd:   "`BeginDate` and the schedule's `TimeboxLength`",
}

// ContextDefaults returns the rows of contextDefaults, with their lines in docs/contexts.md.
func ContextDefaults() []ContextDefault {
	all := make([]ContextDefault, len(contextDefaults))
	for i, s := range contextDefaults {
		words := func(names []string, none string) string {
			if len(names) == 0 {
				return none
			}
			return strings.Join(names, ", ")
		}
		gets := strings.ReplaceAll(origins[s.from], "%", s.attr)
		if s.onlyIf != "" {
			gets += ", where `" + s.onlyIf + "` is the context"
		}
		all[i] = ContextDefault{s.newTypes, s.contextTypes, s.attr, "| " + words(s.newTypes, "any type that has it") + " | " + words(s.contextTypes, "any that fits") +
			" | `" + s.attr + "` | " + gets + " |"}
	}
	return all
}
