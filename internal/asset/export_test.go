package asset

import (
	"context"
	"strings"
)

// Settle is settle, for the test of a commit whose answer was lost.
func (e *Engine) Settle(ctx context.Context, request string, lost error) error {
	return e.settle(ctx, request, lost)
}

// Supply is a row of supplies, for the test of the document that shows them.
type Supply struct {
	Made, In []string
	Attr     string
	Line     string // of the table
}

var origins = map[origin]string{
	theContext: "it", itsProject: "the project it lies in", itsOwn: "its `%`", theCaller: "the caller", today: "today, in UTC",
	future: "`State:100`, Future", nextName: "the schedule's `Name` and the next number",
	nextBegin: "where the schedule's last timebox ends and its `TimeboxGap` is over; for the first, today",
	nextEnd:   "`BeginDate` and the schedule's `TimeboxLength`",
}

// Supplies are the rows of the table in docs/contexts.md.
func Supplies() []Supply {
	all := make([]Supply, len(supplies))
	for i, s := range supplies {
		words := func(names []string, none string) string {
			if len(names) == 0 {
				return none
			}
			return strings.Join(names, ", ")
		}
		gets := strings.ReplaceAll(origins[s.from], "%", s.attr)
		if s.beneath != "" {
			gets += ", where `" + s.beneath + "` is the context"
		}
		all[i] = Supply{s.made, s.in, s.attr, "| " + words(s.made, "any type that has it") + " | " + words(s.in, "any that fits") +
			" | `" + s.attr + "` | " + gets + " |"}
	}
	return all
}
