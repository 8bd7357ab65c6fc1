package members

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/ui"
)

// auditKinds are the kinds of events. Spec: interface 4.9.
var auditKinds = []string{
	"SignIn", "SignInRefused", "LoginChanged", "TokenCreated", "TokenRevoked", "RoleGranted", "RoleEnded", "DefaultRoleChanged",
	"SubscriptionCreated", "SubscriptionChanged", "SubscriptionDeleted", "LocalizationChanged", "Imported", "Denied", "Unrecorded",
}

// auditEvent is an event as the interface lists it.
type auditEvent struct {
	At      time.Time
	Kind    string
	Actor   string
	Address string
	Member  string
	Project string
	Asset   string
	Role    string
	Count   int
	more    map[string]any // what else it has, by its key
}

// UnmarshalJSON reads an event with what its kind adds.
func (e *auditEvent) UnmarshalJSON(text []byte) error {
	type plain auditEvent
	if err := json.Unmarshal(text, (*plain)(e)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &e.more); err != nil {
		return err
	}
	for _, key := range []string{"id", "at", "kind", "actor", "address", "member", "project", "asset", "role", "count"} {
		delete(e.more, key)
	}
	return nil
}

// Details are what the kind of the event adds, in words.
func (e *auditEvent) Details() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(e.more)) {
		value := e.more[key]
		if list, ok := value.([]any); ok {
			texts := make([]string, len(list))
			for i := range list {
				texts[i] = fmt.Sprint(list[i])
			}
			value = strings.Join(texts, ", ")
		}
		all = append(all, key+": "+fmt.Sprint(value))
	}
	return strings.Join(all, "; ")
}

// auditPage is a page of the audit.
type auditPage struct {
	Kinds                                      []string
	Kind, Actor, Member, Project, Since, Until string
	Events                                     []auditEvent
	Names                                      map[string]string
	Newest, Older                              string // links; empty where there is none
}

// Called is what an asset is called, or its Oid.
func (p *auditPage) Called(oid string) string {
	if name := p.Names[oid]; name != "" {
		return name
	}
	return oid
}

// auditSize is how many events a page has.
const auditSize = "50"

// showAudit serves GET ui/members/audit.
func showAudit(v *ui.Visit) error {
	page := auditPage{Kinds: auditKinds, Kind: v.Param("kind"), Actor: v.Param("actor"), Member: v.Param("member"), Project: v.Param("project"), Since: v.Param("since"), Until: v.Param("until")}
	ask, err := page.params()
	if err != nil {
		return err
	}
	if after := v.Param("after"); after != "" {
		ask.Set("after", after)
		page.Newest = auditLink(v, "")
	}
	var list struct {
		Results []auditEvent `json:"results"`
		Next    string       `json:"next"`
	}
	if err := v.API.Get("api/audit?"+ask.Encode(), &list); err != nil {
		return err
	}
	if page.Events = list.Results; list.Next != "" {
		page.Older = auditLink(v, list.Next)
	}
	oids := map[string]bool{}
	for _, e := range page.Events {
		for _, oid := range []string{e.Actor, e.Member, e.Project, e.Role} {
			oids[oid] = oid != ""
		}
	}
	if page.Names, err = namesOfAssets(v, oids); err != nil {
		return err
	}
	return v.Render("audit", "Audit", &page)
}

// params are those of the request for the events. Errors: *ui.Error.
func (p *auditPage) params() (url.Values, error) {
	ask := url.Values{"page": {auditSize}}
	for name, text := range map[string]string{"kind": p.Kind, "actor": p.Actor, "member": p.Member, "project": p.Project} {
		if text != "" {
			ask.Set(name, text)
		}
	}
	for name, text := range map[string]string{"since": p.Since, "until": p.Until} {
		if text == "" {
			continue
		}
		at, err := ui.UTCInstant(text)
		if err != nil {
			return nil, &ui.Error{Status: http.StatusBadRequest, Message: name + " is no time such as 2026-01-31T12:00."}
		}
		ask.Set(name, at.Format(time.RFC3339))
	}
	return ask, nil
}

// auditLink is this page behind a place, or from the newest event.
func auditLink(v *ui.Visit, after string) string {
	values := v.Request.URL.Query()
	if values.Del("after"); after != "" {
		values.Set("after", after)
	}
	return v.Site.Base + "/ui/members/audit?" + values.Encode()
}
