package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// The proportions of the data, which are the same for every size. Projects are filled one
// after another. The number of members and sprints grows with the number of stories; a few
// members own most of the stories.
const (
	storiesOfProject = 2000
	storiesOfMember  = 250
	storiesOfEpic    = 20
	storiesOfSprint  = 100
	inOneRequest     = 2000
)

// object is a JSON object.
type object = map[string]any

// fill creates the data with requests. The data is the same on every server.
func fill(site *rig.Site, stories int) error {
	random := rand.New(rand.NewPCG(1, uint64(stories)))
	var members []object
	for i := range max(8, stories/storiesOfMember) {
		members = append(members, object{"AssetType": "Member", "Name": memberName(i), "Nickname": fmt.Sprintf("m%d", i), "DefaultRole": "Role:4", "NotifyViaEmail": false})
	}
	people, err := site.Bulk(members)
	if err != nil {
		return err
	}
	schedule, err := site.Bulk([]object{{"AssetType": "Schedule", "Name": "Two weeks"}})
	if err != nil {
		return err
	}
	for n := range stories / storiesOfProject {
		if err := project(site, random, n, people, schedule[0]); err != nil {
			return err
		}
	}
	return nil
}

func memberName(i int) string { return fmt.Sprintf("Member %d", i) }

// project creates one project and its stories.
func project(site *rig.Site, random *rand.Rand, n int, people []string, schedule string) error {
	made, err := site.Bulk([]object{{"AssetType": "Scope", "Name": fmt.Sprintf("Project %d", n), "Parent": "Scope:0", "BeginDate": "2025-01-01", "Schedule": schedule}})
	if err != nil {
		return err
	}
	scope := made[0]
	var epics, sprints []object
	for i := range storiesOfProject / storiesOfEpic {
		epics = append(epics, object{"AssetType": "Epic", "Scope": scope, "Name": fmt.Sprintf("Epic %d of project %d", i, n)})
	}
	supers, err := site.Bulk(epics)
	if err != nil {
		return err
	}
	for i := range storiesOfProject / storiesOfSprint {
		begin := (n*storiesOfProject/storiesOfSprint + i) % 1000
		sprints = append(sprints, object{
			"AssetType": "Timebox", "Name": fmt.Sprintf("Sprint %d of project %d", i, n), "Schedule": schedule, "State": "State:101",
			"BeginDate": day(begin), "EndDate": day(begin + 14),
		})
	}
	timeboxes, err := site.Bulk(sprints)
	if err != nil {
		return err
	}
	var stories []object
	for i := range storiesOfProject {
		story := object{
			"AssetType": "Story", "Scope": scope, "Name": fmt.Sprintf("As a customer I change my order (%d of project %d)", i, n),
			"Estimate": i%8 + 1, "Status": fmt.Sprintf("StoryStatus:%d", 133+min(random.IntN(8), 2)),
			"Owners": owners(random, people), "Timebox": timeboxes[i*len(timeboxes)/storiesOfProject],
		}
		if i%3 > 0 {
			story["Super"] = supers[i%len(supers)]
		}
		if i%10 == 0 {
			story["Children"] = []object{{"AssetType": "Task", "Name": "Decide", "ToDo": 4, "DetailEstimate": 8}}
		}
		stories = append(stories, story)
	}
	for from := 0; from < len(stories); from += inOneRequest {
		if _, err := site.Bulk(stories[from:min(from+inOneRequest, len(stories))]); err != nil {
			return err
		}
	}
	return nil
}

func day(n int) string { return time.Date(2025, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }

// owners returns one or two members. The first members in the list are chosen most often.
func owners(random *rand.Rand, people []string) []string {
	pick := func() string {
		x := random.Float64()
		return people[int(x*x*float64(len(people)))]
	}
	one, two := pick(), pick()
	if one == two || random.IntN(2) == 0 {
		return []string{one}
	}
	return []string{one, two}
}
