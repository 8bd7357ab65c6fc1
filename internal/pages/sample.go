package pages

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"time"
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
}

// showWelcome serves GET ui/welcome: what there is to see, and a sample to see it with.
func showWelcome(v *visit) error { return v.welcome("") }

func (v *visit) welcome(message string) error {
	s, err := v.sample()
	if err != nil {
		return err
	}
	s.Message = message
	if s.Project == "" {
		v.stands("api/asset?atomic=true", v.p.sampleAt(time.Now()))
		v.stands("api/webhook", "")
	}
	return v.render("welcome", "Welcome", s)
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

// sample finds the sample by its subscription.
func (v *visit) sample() (s sample, err error) {
	if !v.p.greets || !v.member.Administers() {
		return s, notFound()
	}
	var list struct {
		Results []sampleSubscription `json:"results"`
	}
	if err := v.api.get("api/webhook?page=100", &list); err != nil {
		return s, err
	}
	for _, one := range list.Results {
		if one.WebhookID == sampleHook && len(one.EventTypes) > 0 {
			_, id, _ := strings.Cut(one.URL, receiverPath)
			return sample{Project: one.EventTypes[0].With["$Sample"], Hook: one.ID, Receiver: v.p.base + receiverPath + id}, nil
		}
	}
	return s, nil
}

// sampleAt returns the commands that make the sample at an instant.
func (*Pages) sampleAt(now time.Time) string {
	day := func(n int) string { return now.UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	return strings.NewReplacer("{begin}", day(-3), "{end}", day(11), "{later}", day(25)).Replace(strings.TrimSpace(sampleCommands))
}

// makeSample serves POST ui/welcome: it makes the project and then the subscription,
// whose first events are those of what its reader does next.
func makeSample(v *visit) error {
	before, err := v.sample()
	if err != nil {
		return err
	}
	if before.Project != "" {
		return v.to("/ui/welcome")
	}
	receiver := newReceiverID()
	v.p.receivers.open(receiver) // what its reader does next is kept
	project, err := v.makeSampleProject()
	if err == nil {
		err = v.api.post("api/webhook", map[string]any{
			"webhookId": sampleHook, "description": "Sample", "url": v.p.public + receiverPath + receiver,
			"eventTypes": []any{map[string]any{
				"type": "AssetChanged", "from": "PrimaryWorkitem", "filter": []string{"Scope=$Sample"},
				"with": map[string]string{"$Sample": project}, "select": []string{"Number", "Name", "Status.Name"},
			}},
		}, nil)
	}
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.welcome(readable(refused.Message))
	}
	return v.to("/ui/welcome")
}

// makeSampleProject makes the project with all that is in it, and returns its Oid.
func (v *visit) makeSampleProject() (string, error) {
	var commands []any
	if err := json.Unmarshal([]byte(v.p.sampleAt(time.Now())), &commands); err != nil {
		return "", err
	}
	w, err := v.api.write(commands...)
	if err != nil {
		return "", err
	}
	for _, o := range w.AssetsCreated.OidTokens {
		if strings.HasPrefix(o, "Scope:") {
			return o, nil
		}
	}
	return "", &failure{Status: http.StatusInternalServerError, Message: "The sample has no project."}
}

// removeSample serves POST ui/welcome/remove: the subscription, the project with all
// that is in it, and the schedule with its sprints.
func removeSample(v *visit) error {
	s, err := v.sample()
	if err != nil {
		return err
	}
	if s.Project == "" {
		return v.to("/ui/welcome")
	}
	var found []struct {
		Schedule struct {
			Oid string `json:"_oid"`
		} `json:"Schedule"`
		Timeboxes []struct {
			Oid string `json:"_oid"`
		} `json:"Schedule.Timeboxes"`
	}
	err = v.api.find([]query{{"from": s.Project, "select": []string{"Schedule", "Schedule.Timeboxes"}}}, &found)
	if err != nil {
		return err
	}
	commands := []any{}
	remove := func(oid string) { commands = append(commands, map[string]string{"from": oid, "execute": "Delete"}) }
	for _, project := range found {
		remove(s.Project)
		for _, t := range project.Timeboxes {
			remove(t.Oid)
		}
		if project.Schedule.Oid != "" {
			remove(project.Schedule.Oid)
		}
	}
	if len(commands) > 0 {
		if _, err := v.api.write(commands...); err != nil {
			return err
		}
	}
	if err := v.api.post("api/webhook/delete/"+s.Hook, struct{}{}, nil); err != nil {
		return err
	}
	return v.to("/ui/welcome?done=removed")
}
