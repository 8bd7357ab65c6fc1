package sample

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/ui"

	_ "embed"
)

// sampleCommands make the sample project. Dates stand in braces.
//
//go:embed sample.json
var sampleCommands string

// sampleHook is the webhookId of the sample's subscription. By it the sample is found
// again: its filter names the project.
const sampleHook = "sample"

// sample is what a new standalone offers, and what became of it.
type sample struct {
	Project  string // Oid; empty: it has not been made
	Hook     string // id of its subscription
	Receiver string // path of the page where its events appear
	Message  string
	Projects bool // there are some besides the root of all
}

// showWelcome serves GET ui/welcome: what there is to see, and a sample to see it with.
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

// subscription is what the interface says of one, as far as the sample needs it.
// Spec: interface 2.6.
type sampleSubscription struct {
	ID         string `json:"id"`
	WebhookID  string `json:"webhookId"`
	URL        string `json:"url"`
	EventTypes []struct {
		With map[string]string `json:"with"`
	} `json:"eventTypes"`
}

// readSample finds the sample by its subscription.
func readSample(v *ui.Visit) (s sample, err error) {
	if !v.Site.Greets || !v.Member.Administers() {
		return s, ui.NotFound()
	}
	var list struct {
		Results []sampleSubscription `json:"results"`
	}
	if err := v.API.Get("api/webhook?page=100", &list); err != nil {
		return s, err
	}
	for _, one := range list.Results {
		if one.WebhookID == sampleHook && len(one.EventTypes) > 0 {
			_, id, _ := strings.Cut(one.URL, receiverPath)
			return sample{Project: one.EventTypes[0].With["$Sample"], Hook: one.ID, Receiver: v.Site.Base + receiverPath + id}, nil
		}
	}
	return s, nil
}

// sampleAt returns the commands that make the sample at an instant.
func sampleAt(now time.Time) string {
	day := func(n int) string { return now.UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	return strings.NewReplacer("{begin}", day(-3), "{end}", day(11), "{later}", day(25)).Replace(strings.TrimSpace(sampleCommands))
}

// makeSample serves POST ui/welcome: it makes the project and then the subscription,
// whose first events are those of what its reader does next, each in a delivery of its own.
func (k *receivers) makeSample(v *ui.Visit) error {
	before, err := readSample(v)
	if err != nil {
		return err
	}
	if before.Project != "" {
		return v.Redirect("/ui/welcome")
	}
	receiver := rand.Text()
	k.open(receiver) // what its reader does next is kept
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

// makeSampleProject makes the project with all that is in it, and returns its Oid.
func makeSampleProject(v *ui.Visit) (string, error) {
	var commands []any
	if err := json.Unmarshal([]byte(sampleAt(time.Now())), &commands); err != nil {
		return "", err
	}
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

// removeSample serves POST ui/welcome/remove: the subscription, the project with all
// that is in it, and the schedule with its sprints.
func removeSample(v *ui.Visit) error {
	s, err := readSample(v)
	if err != nil {
		return err
	}
	if s.Project == "" {
		return v.Redirect("/ui/welcome")
	}
	var found []struct {
		Schedule struct {
			Oid string `json:"_oid"`
		} `json:"Schedule"`
		Timeboxes []struct {
			Oid string `json:"_oid"`
		} `json:"Schedule.Timeboxes"`
		Scheduled []ui.Reference `json:"Schedule.ScheduledScopes"`
	}
	err = v.API.Find([]ui.Query{{"from": s.Project, "select": []string{"Schedule", "Schedule.Timeboxes", "Schedule.ScheduledScopes"}}}, &found)
	if err != nil {
		return err
	}
	commands := []any{}
	remove := func(oid string) { commands = append(commands, map[string]string{"from": oid, "execute": "Delete"}) }
	for _, project := range found {
		remove(s.Project)
		if len(project.Scheduled) > 1 {
			continue // another project has its schedule
		}
		for _, t := range project.Timeboxes {
			remove(t.Oid)
		}
		if project.Schedule.Oid != "" {
			remove(project.Schedule.Oid)
		}
	}
	if len(commands) > 0 {
		if _, err := v.API.Write(commands...); err != nil {
			return err
		}
	}
	if err := v.API.Post("api/webhook/delete/"+s.Hook, struct{}{}, nil); err != nil {
		return err
	}
	return v.Redirect("/ui/welcome?done=removed")
}
