package projects

import (
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// makingProject links to the console with a request that makes a project below another.
func makingProject(v *ui.Visit, parent string) string {
	return v.Making(fmt.Sprintf(`[
 {"AssetType": "Scope", "Name": "New project", "Parent": "%s", "BeginDate": "%s"}
]`, parent, today(0)))
}

// makingEpic links to the console with a request that makes an epic.
func makingEpic(v *ui.Visit, project string) string {
	return v.Making(fmt.Sprintf(`[
 {"AssetType": "Epic", "Name": "New epic", "Scope": "%s"}
]`, project))
}

// sprintDays is how long the sprint of an example lasts.
const sprintDays = 14

// makingSprint links to the console with a request that makes a sprint, and the schedule
// that it needs where the project has none; empty: schedule.
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

// today is the day that comes so many days after this one.
func today(after int) string { return time.Now().UTC().AddDate(0, 0, after).Format(time.DateOnly) }
