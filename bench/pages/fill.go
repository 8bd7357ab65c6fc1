package main

import (
	"fmt"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// The size of the data: eight projects with equal numbers of stories, with sprints, owners and
// tasks.
const (
	projects   = 8
	inOneWrite = 1000
	sprints    = 6
)

// filled has Oids of the created assets.
type filled struct {
	project, sprint, story string // Oids
}

// page is a row of the table.
type page struct{ name, path string }

func (f filled) pages() []page {
	return []page{
		{"projects", "/ui/"},
		{"backlog, 1,000 rows", "/ui/project/" + f.project},
		{"backlog, filtered", "/ui/project/" + f.project + "?find=card"},
		{"board, 1,000 cards", "/ui/project/" + f.project + "/board"},
		{"flow of 30 days", "/ui/project/" + f.project + "/flow"},
		{"sprint, 1,000 rows", "/ui/project/" + f.project + "/sprint/" + f.sprint},
		{"burndown of a sprint", "/ui/project/" + f.project + "/sprint/" + f.sprint + "/burndown"},
		{"asset", "/assetdetail.v1?oid=" + f.story},
		{"history of an asset", "/assetdetail.v1?oid=" + f.story + "&tab=history"},
		{"console", "/ui/console"},
		{"model", "/ui/model"},
		{"a type of the model", "/ui/model/Story"},
		{"applications", "/ui/applications"},
		{"webhooks", "/ui/webhooks"},
		{"members", "/ui/members"},
		{"system", "/ui/system"},
	}
}

// object is a JSON object.
type object = map[string]any

// fill creates projects with stories through the interface.
func fill(site *rig.Site, stories int) (f filled, err error) {
	now := time.Now().UTC()
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	schedule, err := site.Bulk([]object{{"AssetType": "Schedule", "Name": "Two weeks"}})
	if err != nil {
		return f, err
	}
	var boxes []object
	for i := range sprints {
		boxes = append(boxes, object{
			"AssetType": "Timebox", "Name": fmt.Sprintf("Sprint %d", i+1), "Schedule": schedule[0], "State": "State:101",
			"BeginDate": day(14*i - 30), "EndDate": day(14*i - 16),
		})
	}
	timeboxes, err := site.Bulk(boxes)
	if err != nil {
		return f, err
	}
	f.sprint = timeboxes[2]
	for n := range projects {
		project, err := site.Bulk([]object{{"AssetType": "Scope", "Name": fmt.Sprintf("Project %d", n+1), "Parent": "Scope:0", "BeginDate": day(-60), "Schedule": schedule[0]}})
		if err != nil {
			return f, err
		}
		made, err := fillProject(site, project[0], timeboxes, stories/projects)
		if err != nil {
			return f, err
		}
		f.project, f.story = project[0], made
	}
	return f, nil
}

// words occur in the names of stories.
var words = []string{"card", "invoice", "search", "basket", "account", "receipt", "catalogue", "voucher", "address", "delivery", "return"}

// fillProject creates the stories of a project, in requests of a thousand, and returns the Oid
// of the first story.
func fillProject(site *rig.Site, project string, timeboxes []string, stories int) (first string, err error) {
	for from := 0; from < stories; from += inOneWrite {
		var commands []object
		for i := from; i < min(from+inOneWrite, stories); i++ {
			story := object{
				"AssetType": "Story", "Scope": project, "Name": fmt.Sprintf("As a customer I change the %s of my %s (%d)", words[i%len(words)], words[i/7%len(words)], i),
				"Estimate": i%8 + 1, "Status": fmt.Sprintf("StoryStatus:%d", 133+i%3), "Owners": "Member:20",
			}
			if i%3 > 0 {
				story["Timebox"] = timeboxes[i%len(timeboxes)]
			}
			if i%20 == 0 {
				story["Children"] = []object{{"AssetType": "Task", "Name": "Decide", "ToDo": 4, "DetailEstimate": 8}}
			}
			commands = append(commands, story)
		}
		made, err := site.Bulk(commands)
		if err != nil {
			return "", err
		}
		if first == "" {
			first = made[0]
		}
	}
	return first, nil
}
