package sample

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"

	_ "embed"
)

// sampleCommands has the commands that create the sample project. Dates are placeholders in
// braces.
//
//go:embed sample.json
var sampleCommands string

// sampleHook is the webhookId of the sample's subscription. The subscription is used to find
// the sample, because its definition has the Oid of the project.
const sampleHook = "sample"

// sample is the state of the sample.
type sample struct {
	Project  string // Oid; empty: not created
	Hook     string // id of its subscription
	Receiver string // path of the page that shows its events
	Message  string
	Projects bool // there are projects besides the root project
}

// showWelcome serves GET ui/welcome: an overview of the service, and the sample.
func showWelcome(v *ui.Visit) error { return renderWelcome(v, "") }

func renderWelcome(v *ui.Visit, message string) error {
	s, err := readSample(v)
	if err != nil {
		return err
	}
	s.Message = message
	if s.Project == "" {
		var scopes []struct{}
		if err := v.Quiet().Find([]ui.Query{{"from": "Scope", "page": map[string]int{"start": 0, "size": 2}}}, &scopes); err != nil {
			return err
		}
		s.Projects = len(scopes) > 1
		v.Sends("api/asset?atomic=true", sampleAt(time.Now()))
		v.Sends("api/webhook", "")
	}
	return v.Render("welcome", "Welcome", s)
}

// sampleSubscription has the members of a subscription that the sample needs. Spec: interface
// 2.6.
type sampleSubscription struct {
	ID         string `json:"id"`
	WebhookID  string `json:"webhookId"`
	URL        string `json:"url"`
	EventTypes []struct {
		With map[string]string `json:"with"`
	} `json:"eventTypes"`
}

// readSample finds the sample by its subscription. The result is empty if there is none.
func readSample(v *ui.Visit) (s sample, err error) {
	if !v.Site.Greets || !v.Member.Administers() {
		return s, ui.NotFound()
	}
	for start, total := 0, 1; start < total; start += hooksPage {
		var list struct {
			Total   int                  `json:"total"`
			Results []sampleSubscription `json:"results"`
		}
		if err := v.API.Get(fmt.Sprintf("api/webhook?page=%d,%d", hooksPage, start), &list); err != nil {
			return s, err
		}
		for _, one := range list.Results {
			if project, receiver, ok := one.ofSample(); ok {
				return sample{Project: project, Hook: one.ID, Receiver: v.Site.Base + receiverPath + receiver}, nil
			}
		}
		total = list.Total
	}
	return s, nil
}

// hooksPage is the number of subscriptions in one answer.
const hooksPage = 100

// ofSample returns the project and the receiver of the sample. ok is false if the subscription is
// not that of the sample. Other subscriptions may have the same webhookId.
func (one sampleSubscription) ofSample() (project, receiver string, ok bool) {
	_, receiver, ok = strings.Cut(one.URL, receiverPath)
	if !ok || one.WebhookID != sampleHook || len(one.EventTypes) == 0 {
		return "", "", false
	}
	project = one.EventTypes[0].With["$Sample"]
	return project, receiver, ui.IsOid(project, "Scope")
}

// sampleAt returns the commands that create the sample, with dates relative to an instant.
func sampleAt(now time.Time) string {
	day := func(n int) string { return now.UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	return strings.NewReplacer("{begin}", day(-3), "{end}", day(11), "{later}", day(25)).Replace(strings.TrimSpace(sampleCommands))
}

// makeProject serves POST ui/welcome/project: it creates the first project and leads to its backlog.
func makeProject(v *ui.Visit) error {
	err := v.Once()
	var done ui.Written
	if err == nil {
		done, err = v.API.Write(map[string]any{
			"AssetType": "Scope", "Name": v.Field("name"), "Parent": "Scope:0", "BeginDate": time.Now().UTC().Format(time.DateOnly),
		})
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderWelcome(v, v.Readable(refused.Message))
	}
	for _, oid := range done.AssetsCreated.OidTokens {
		kind, rest, _ := strings.Cut(oid, ":")
		id, _, _ := strings.Cut(rest, ":")
		return v.Redirect("/ui/project/" + kind + ":" + id + "?done=made")
	}
	return v.Redirect("/ui/projects")
}

// makeSample serves POST ui/welcome: it creates the project and then the subscription. So the first
// event is about the next change that the reader makes. Each delivery has one event.
func (k *receivers) makeSample(v *ui.Visit) error {
	before, err := readSample(v)
	if err != nil {
		return err
	}
	if before.Project != "" {
		return v.Redirect("/ui/welcome")
	}
	if err := v.Once(); err != nil {
		return err
	}
	receiver := rand.Text()
	k.open(receiver) // from now on, deliveries are stored
	project, err := makeSampleProject(v)
	if err == nil {
		err = v.API.Post("api/webhook", map[string]any{
			"webhookId": sampleHook, "description": "Sample", "maxBatch": 1, "url": v.Site.Public + receiverPath + receiver,
			"eventTypes": []any{map[string]any{
				"type": "AssetChanged", "from": "PrimaryWorkitem", "filter": []string{"Scope=$Sample"},
				"with": map[string]string{"$Sample": project}, "select": []string{"Number", "Name", "Status.Name"},
			}},
		}, nil)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return renderWelcome(v, ui.Readable(refused.Message))
	}
	return v.Redirect("/ui/welcome")
}

// makeSampleProject creates the project with its contents and returns its Oid.
func makeSampleProject(v *ui.Visit) (string, error) {
	var commands []any
	if err := json.Unmarshal([]byte(sampleAt(time.Now())), &commands); err != nil {
		return "", err
	}
	v.CannotUndo() // the subscription would not come back
	w, err := v.API.Write(commands...)
	if err != nil {
		return "", err
	}
	for _, o := range w.AssetsCreated.OidTokens {
		if strings.HasPrefix(o, "Scope:") {
			return o, nil
		}
	}
	return "", &ui.Error{Status: http.StatusInternalServerError, Message: "The sample has no project."}
}

// removeSample serves POST ui/welcome/remove: it deletes the subscription, the project with
// its contents, and the schedule with its sprints.
func removeSample(v *ui.Visit) error {
	s, err := readSample(v)
	if err != nil {
		return err
	}
	if s.Project == "" {
		return v.Redirect("/ui/welcome")
	}
	commands, err := removal(v, s.Project)
	if err != nil {
		return err
	}
	if len(commands) > 0 {
		v.CannotUndo()
		if _, err := v.API.Write(commands...); err != nil {
			return err
		}
	}
	if err := v.API.Post("api/webhook/delete/"+s.Hook, struct{}{}, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/welcome?done=removed")
}

// removal returns the commands that delete the sample's project and schedule. It is empty if
// the project is already deleted. The schedule is that of the project's first version, because
// the project may have another one now. It is kept if another project uses it.
func removal(v *ui.Visit, project string) (commands []any, err error) {
	var present []ui.Reference
	var versions []struct{ Schedule ui.Reference }
	err = v.API.Find([]ui.Query{
		{"from": project}, {"from": project, "asof": "All", "select": []string{"Schedule"}, "sort": []string{"Moment"}, "page": map[string]int{"start": 0, "size": 1}},
	}, &present, &versions)
	if err != nil || len(present) == 0 {
		return nil, err
	}
	remove := func(oid string) { commands = append(commands, map[string]string{"from": oid, "execute": "Delete"}) }
	remove(project)
	if len(versions) == 0 || !ui.IsOid(versions[0].Schedule.Oid, "Schedule") {
		return commands, nil
	}
	schedule := versions[0].Schedule.Oid
	var found []struct{ Timeboxes, ScheduledScopes []ui.Reference }
	if err := v.API.Find([]ui.Query{{"from": schedule, "select": []string{"Timeboxes", "ScheduledScopes"}}}, &found); err != nil {
		return nil, err
	}
	for _, one := range found {
		if slices.ContainsFunc(one.ScheduledScopes, func(other ui.Reference) bool { return other.Oid != project }) {
			continue
		}
		for _, t := range one.Timeboxes {
			remove(t.Oid)
		}
		remove(schedule)
	}
	return commands, nil
}
