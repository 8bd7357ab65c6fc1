package projects

import (
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// makingProject returns a link to the console with a request that creates a child project.
func makingProject(v *ui.Visit, parent string) string {
	return v.Making(fmt.Sprintf(`[
 {"AssetType": "Scope", "Name": "New project", "Parent": "%s", "BeginDate": "%s"}
]`, parent, today(0)))
}

// makingEpic returns a link to the console with a request that creates an epic.
func makingEpic(v *ui.Visit, project string) string {
	return v.Making(fmt.Sprintf(`[
 {"AssetType": "Epic", "Name": "New epic", "Scope": "%s"}
]`, project))
}

// sprintDays is the length in days of the sprint that the request of makingSprint creates.
const sprintDays = 14

// makingSprint returns a link to the console with a request that creates a sprint. If schedule
// is empty, the request also creates the schedule that the sprint needs.
func makingSprint(v *ui.Visit, project, schedule string) string {
	before := ""
	if schedule == "" || schedule == ui.NoAsset {
		schedule = "@schedule"
		before = fmt.Sprintf(`
 {"@schedule": {"AssetType": "Schedule", "Name": "Sprints of %s"}},
 {"from": "%s", "update": {"Schedule": "@schedule"}},`, project, project)
	}
	return v.Making(fmt.Sprintf(`[%s
 {"AssetType": "Timebox", "Name": "New sprint", "Schedule": "%s", "State": "State:100", "BeginDate": "%s", "EndDate": "%s"}
]`, before, schedule, today(0), today(sprintDays)))
}

// today returns the date of today plus a number of days.
func today(after int) string { return time.Now().UTC().AddDate(0, 0, after).Format(time.DateOnly) }
