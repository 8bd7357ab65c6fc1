package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// auditKinds are the kinds of events. Spec: interface 4.9.
var auditKinds = []string{
	"SignIn", "SignInRefused", "LoginChanged", "TokenCreated", "TokenRevoked", "RoleGranted", "RoleEnded", "DefaultRoleChanged",
	"SubscriptionCreated", "SubscriptionChanged", "SubscriptionDeleted", "LocalizationChanged", "SettingsChanged", "Imported", "Undone", "Applied", "Repaired", "Denied", "Unrecorded",
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
	Request string
	more    map[string]any // further JSON fields of the event, by key
}

// UnmarshalJSON decodes an event. JSON fields that depend on the kind of the event go to the map
// more.
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

// Write returns the id of the write that an event is about, or an empty text.
func (e *auditEvent) Write() string {
	if e.Kind == "Imported" || e.Kind == "Undone" || e.Kind == "Applied" {
		return e.Request
	}
	return ""
}

// Details returns the JSON fields that depend on the kind of the event, as text.
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
	Names                                      ui.Names
	Newest, Older                              string     // links; empty if there is no such page
	Message                                    string     // why the request was refused
	Namesakes                                  []namesake // several assets with the name in a field
}

// projectAdmin is the role that can read the audit of its projects.
const projectAdmin = "Role:2"

// audits reports whether the reader may read at least a part of the audit. It computes this
// from roles, because a refused attempt would itself become an audit event. Spec: interface
// 4.9.
func audits(v *ui.Visit) (bool, error) {
	if v.Member.Administers() {
		return true, nil
	}
	held, err := rolesOf(v, []string{v.Member.Oid})
	return slices.ContainsFunc(held[v.Member.Oid], func(h heldRole) bool {
		return h.Role.Oid == projectAdmin || h.Role.Oid == ui.SystemAdmin
	}), err
}

// auditSize is the number of events of a page.
const auditSize = "50"

// showAudit serves GET ui/members/audit.
func showAudit(v *ui.Visit) error {
	if may, err := audits(v); err != nil {
		return err
	} else if !may {
		return &ui.Error{Status: http.StatusForbidden, Message: "The audit is for system administrators, and for administrators of projects."}
	}
	page := auditPage{Kinds: auditKinds, Kind: v.Param("kind"), Actor: v.Param("actor"), Member: v.Param("member"), Project: v.Param("project"), Since: v.Param("since"), Until: v.Param("until")}
	err := page.read(v)
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status, page.Message = refused.Status, auditRefusal(refused.Message)
	}
	return v.Render("audit", "Audit", &page)
}

// read reads the events for the parameters of the page. Errors: *ui.Error.
func (page *auditPage) read(v *ui.Visit) error {
	ask, err := page.params(v)
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
	var oids []string
	for _, e := range page.Events {
		oids = append(oids, e.Actor, e.Member, e.Project, e.Role)
	}
	page.Names, err = v.NamesOf(oids...)
	return err
}

// auditWords has the labels of the parameters in the form.
var auditWords = map[string]string{"actor": "Done by", "member": "About the member", "project": "In the project", "kind": "What", "since": "Since", "until": "Until"}

// invalidParam matches the message of the interface about a wrong parameter.
var invalidParam = regexp.MustCompile(`^Invalid (\w+): (.*?)(?: \(wanted: the Oid of a \w+\))?$`)

// auditRefusal rewords a message of the interface with the labels of the form.
func auditRefusal(message string) string {
	m := invalidParam.FindStringSubmatch(message)
	if m == nil || auditWords[m[1]] == "" {
		return message
	}
	return auditWords[m[1]] + ": “" + m[2] + "” is not there, or has another form than the example."
}

// params returns the parameters of the request to the interface. Errors: *ui.Error.
func (page *auditPage) params(v *ui.Visit) (url.Values, error) {
	ask := url.Values{"page": {auditSize}}
	if page.Kind != "" {
		ask.Set("kind", page.Kind)
	}
	for _, field := range []struct{ name, kind string }{{"actor", "Member"}, {"member", "Member"}, {"project", "Scope"}} {
		oid, all, err := assetNamed(v, field.kind, field.name)
		if page.Namesakes = all; len(all) > 0 {
			err = errNamesakes(v.Param(field.name))
		}
		if refused, ok := errors.AsType[*ui.Error](err); ok {
			refused.Message = auditWords[field.name] + ": " + refused.Message
		}
		if err != nil {
			return nil, err
		}
		if oid != "" {
			ask.Set(field.name, oid)
		}
	}
	for name, text := range map[string]string{"since": page.Since, "until": page.Until} {
		if text == "" {
			continue
		}
		at, err := ui.UTCInstant(text)
		if err != nil {
			return nil, &ui.Error{Status: http.StatusBadRequest, Message: auditWords[name] + ": write a time such as 2026-01-31 12:00."}
		}
		ask.Set(name, at.Format(time.RFC3339))
	}
	return ask, nil
}

// auditLink returns a link to this page that starts after an event, or at the newest event.
func auditLink(v *ui.Visit, after string) string {
	values := v.Request.URL.Query()
	if values.Del("after"); after != "" {
		values.Set("after", after)
	}
	return v.Site.Base + "/ui/members/audit?" + values.Encode()
}
