package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// webhookForm is the data of the form of a subscription. It does not contain secret parts of
// the URL or other secrets.
type webhookForm struct {
	ID                                      string // empty: a new subscription
	WebhookID, URL, Description, MaxBatch   string
	Secret                                  string // "", "generate", "own" or "none"
	HasSecret, Ordered                      bool
	AsJSON                                  bool // the definitions come from the text, not from the fields
	Created, Changed                        bool
	From, Attributes, Filter, Select, Views string
	JSON                                    string // definitions as text
	Types                                   []string
	Message                                 string
	Updated                                 string // version of the values that were read, to detect changes by others
	Stale                                   bool   // someone else has changed the subscription meanwhile
	Forgotten                               bool   // the form contained secrets, which must be entered again
	Checked                                 *webhookPreview
}

// webhookPreview has the latest changes and whether each would match. Spec: interface 4.4.6.
type webhookPreview struct {
	Matched int `json:"matched"`
	Changes []struct {
		SequenceID  int64     `json:"sequenceId"`
		EventType   string    `json:"eventType"`
		Timestamp   time.Time `json:"timestamp"`
		Asset       string    `json:"asset"`
		Name        string    `json:"name"`
		Attributes  []string  `json:"attributes"`
		Definitions []int     `json:"definitions"`
		Why         string    `json:"why"`
	} `json:"changes"`
	Event json.RawMessage `json:"event"`
}

// Sent returns the newest matching event in the form in which it would be sent.
func (p *webhookPreview) Sent() string {
	if len(p.Event) == 0 {
		return ""
	}
	text, _ := shownBody(p.Event)
	return text
}

// whyNot has a text for each reason why a change does not match.
var whyNot = map[string]string{"type": "another type, or another kind of change", "attributes": "other attributes", "filter": "the filter"}

// newWebhook serves GET ui/webhooks/new.
func newWebhook(v *ui.Visit) error {
	return renderForm(v, webhookForm{Changed: true, From: "Story", Secret: "generate"})
}

// editWebhook serves GET ui/webhooks/<id>/edit.
func editWebhook(v *ui.Visit) error {
	id, err := v.UUID("id")
	if err != nil {
		return err
	}
	f, err := formOf(v, id)
	if err != nil {
		return err
	}
	return renderForm(v, f)
}

// formOf reads the subscription and returns its form. Errors: *ui.Error.
func formOf(v *ui.Visit, id string) (f webhookForm, err error) {
	var w webhook
	if err := v.API.Get(webhookPath("", id), &w); err != nil {
		return f, err
	}
	f = webhookForm{ID: w.ID, WebhookID: w.WebhookID, URL: w.URL, Description: w.Description, HasSecret: w.HasSecret, Ordered: w.Ordered, Updated: w.version()}
	if w.HasHidden() {
		f.URL = "" // an empty field keeps the URL
	}
	if w.MaxBatch > 0 {
		f.MaxBatch = strconv.Itoa(w.MaxBatch)
	}
	f.define(w.EventTypes)
	return f, nil
}

// define sets the text of the definitions. If fields can express the same definitions, it also
// sets the fields.
func (f *webhookForm) define(definitions []byte) {
	f.AsJSON, f.JSON = true, ui.IndentedJSON(definitions)
	var all []webhookDefinition
	if json.Unmarshal(definitions, &all) != nil || len(all) == 0 || len(all) > 2 {
		return
	}
	plain := webhookForm{
		From: all[0].From, Filter: strings.Join(all[0].Filter, "\n"), Select: strings.Join(all[0].Select, ", "), Views: all[0].UserContext,
	}
	for _, d := range all {
		plain.Created = plain.Created || d.Type == "AssetCreated"
		plain.Changed = plain.Changed || d.Type == "AssetChanged"
		if d.Type == "AssetChanged" {
			plain.Attributes = strings.Join(d.Attributes, ", ")
		}
	}
	made, err := json.Marshal(plain.definitions())
	if err != nil || !sameJSON(made, definitions) {
		return
	}
	f.AsJSON, f.Created, f.Changed, f.From = false, plain.Created, plain.Changed, plain.From
	f.Attributes, f.Filter, f.Select, f.Views = plain.Attributes, plain.Filter, plain.Select, plain.Views
}

// sameJSON reports whether two texts have equal JSON values.
func sameJSON(a, b []byte) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	first, err := json.Marshal(one)
	second, failed := json.Marshal(other)
	return err == nil && failed == nil && bytes.Equal(first, second)
}

// definitions returns the definitions that the fields express.
func (f *webhookForm) definitions() []webhookDefinition {
	d := webhookDefinition{
		From: f.From, UserContext: f.Views,
		Filter: listed(f.Filter, "\n"), Select: listed(f.Select, ","),
	}
	all := []webhookDefinition{}
	if f.Created {
		d.Type = "AssetCreated"
		all = append(all, d)
	}
	if f.Changed {
		d.Type, d.Attributes = "AssetChanged", listed(f.Attributes, ",")
		all = append(all, d)
	}
	return all
}

// undefined returns a message about a required field that is empty, or "".
func (f *webhookForm) undefined() string {
	switch {
	case !f.Created && !f.Changed:
		return "Mark when: when assets are created, when they are changed, or both."
	case f.From == "":
		return "Write the type of the assets."
	}
	return ""
}

// listed splits a text at a separator and drops empty parts. It returns nil if there are none.
func listed(text, sign string) (all []string) {
	for part := range strings.SplitSeq(text, sign) {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func renderForm(v *ui.Visit, f webhookForm) error {
	var types []struct{ Name string }
	quiet := v.Quiet() // used only for suggestions, so the footer does not show the request
	err := quiet.Find([]ui.Query{{"from": "AssetType", "select": []string{"Name"}, "sort": []string{"Name"}}}, &types)
	if err != nil {
		return err
	}
	for _, t := range types {
		f.Types = append(f.Types, t.Name)
	}
	v.Sends("api/webhook/preview", `{"eventTypes": […]}`)
	v.Sends(strings.TrimSuffix(webhookPath("", f.ID), "/"),
		`{"webhookId": "…", "url": "https://…", "authorizationHeader": "…", "secret": "generate", "eventTypes": […]}`)
	if v.IsPart() {
		v.Status = 0 // the script only shows answers with status 200
		return v.RenderPart("form", "checked", &f)
	}
	title := "New webhook"
	if f.ID != "" {
		title = "Change " + f.WebhookID
	}
	return v.Render("form", title, &f)
}

// readForm reads the submitted form.
func readForm(v *ui.Visit, id string) webhookForm {
	f := webhookForm{
		ID: id, WebhookID: v.Field("webhookId"), URL: v.Field("url"), Description: v.Field("description"), MaxBatch: v.Field("maxBatch"),
		Secret: v.Field("secret"), AsJSON: v.Field("as") == "json", Created: v.Field("created") != "", Changed: v.Field("changed") != "",
		From: v.Field("from"), Attributes: v.Field("attributes"), Filter: v.Field("filter"), Select: v.Field("select"), Views: v.Field("userContext"),
		JSON: v.Request.PostForm.Get("eventTypes"), HasSecret: v.Field("hasSecret") != "", Ordered: v.Field("ordered") != "", Updated: v.Field("updated"),
	}
	f.Forgotten = v.Field("authorization") != "" || v.Field("ownSecret") != ""
	return f
}

// bodyOf returns the request of a form, which starts with the definitions, and the number of
// bytes before the definitions. Errors: *ui.Error.
func bodyOf(v *ui.Visit, f *webhookForm) (body []byte, before int, err error) {
	definitions := []byte(f.JSON)
	if !f.AsJSON {
		if text := f.undefined(); text != "" {
			return nil, 0, &ui.Error{Status: http.StatusBadRequest, Message: text}
		}
		if definitions, err = json.MarshalIndent(f.definitions(), "", "  "); err != nil {
			return nil, 0, err
		}
		f.JSON = string(definitions)
	} else if err := validJSON(definitions); err != nil {
		return nil, 0, err
	}
	rest := map[string]any{"webhookId": f.WebhookID, "url": f.URL, "description": f.Description, "maxBatch": nil, "ordered": f.Ordered}
	if f.MaxBatch != "" {
		n, err := strconv.Atoi(f.MaxBatch)
		if err != nil {
			return nil, 0, &ui.Error{Status: http.StatusBadRequest, Message: "Most events in a delivery: write a number from 1 to 100."}
		}
		rest["maxBatch"] = n
	}
	if header := v.Field("authorization"); header != "" {
		rest["authorizationHeader"] = header
	} else if v.Field("noAuthorization") != "" {
		rest["authorizationHeader"] = nil
	}
	switch f.Secret {
	case "generate":
		rest["secret"] = "generate"
	case "own":
		rest["secret"] = v.Field("ownSecret")
	case "none":
		rest["secret"] = nil
	}
	for key, text := range map[string]string{"webhookId": f.WebhookID, "url": f.URL} {
		if text == "" {
			delete(rest, key) // the interface then reports that the field is required
		}
	}
	others, err := json.Marshal(rest)
	if err != nil {
		return nil, 0, err
	}
	const start = `{"eventTypes": `
	return slices.Concat([]byte(start), definitions, []byte(", "), others[1:]), len(start), nil
}

// validJSON checks definitions that were entered as text. Errors: *ui.Error.
func validJSON(text []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	if err == nil {
		return nil
	}
	where := ""
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		where = " (" + placeIn(string(text), int(wrong.Offset)-1) + ")"
	}
	return &ui.Error{Status: http.StatusBadRequest, Message: "The definitions are no JSON: " + err.Error() + where}
}

// placeIn returns the line and column of a byte offset, as text.
func placeIn(text string, at int) string {
	at = min(max(at, 0), len(text))
	line := strings.Count(text[:at], "\n") + 1
	column := len([]rune(text[strings.LastIndexByte(text[:at], '\n')+1:at])) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// createWebhook serves POST ui/webhooks/new.
func createWebhook(v *ui.Visit) error { return save(v, readForm(v, "")) }

// changeWebhook serves POST ui/webhooks/<id>/edit.
func changeWebhook(v *ui.Visit) error {
	id, err := v.UUID("id")
	if err != nil {
		return err
	}
	return save(v, readForm(v, id))
}

// save checks or saves the form. No page shows its secrets.
func save(v *ui.Visit, f webhookForm) error {
	body, before, err := bodyOf(v, &f)
	switch {
	case err != nil:
	case v.Field("action") == "check":
		f.Checked, err = check(v, &f, body)
	default:
		var made webhook
		if made, err = store(v, &f, body); err == nil {
			return showSaved(v, f, &made)
		}
	}
	refused, err := ui.AsError(err)
	if err != nil {
		return err
	}
	if refused != nil {
		if refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound {
			return refused
		}
		if refused.Message, err = f.unknown(v, refused.Message); err != nil {
			return err
		}
		v.Status, f.Message = refused.Status, f.refusal(refused, before)
	}
	return renderForm(v, f)
}

// store creates or changes the subscription. Errors: *ui.Error.
func store(v *ui.Visit, f *webhookForm, body []byte) (made webhook, err error) {
	switch {
	case f.WebhookID == "":
		return made, &ui.Error{Status: http.StatusBadRequest, Message: "Write a name."}
	case f.Secret == "own" && v.Field("ownSecret") == "":
		return made, &ui.Error{Status: http.StatusBadRequest, Message: "Write the signing secret, or choose another way to sign."}
	}
	if err := f.isCurrent(v); err != nil {
		return made, err
	}
	if err := v.Once(); err != nil { // a second submission would generate another secret
		return made, err
	}
	err = v.Quiet().Do(http.MethodPost, strings.TrimSuffix(webhookPath("", f.ID), "/"), body, &made)
	return made, err
}

// isCurrent refuses the form if the subscription was changed after the form was opened. The
// form then gets the new version, so that it can be submitted again. Errors: *ui.Error, 409.
func (f *webhookForm) isCurrent(v *ui.Visit) error {
	if f.ID == "" {
		return nil
	}
	var w webhook
	if err := v.Quiet().Get(webhookPath("", f.ID), &w); err != nil {
		return err
	}
	if f.Updated == w.version() {
		return nil
	}
	f.Updated, f.Stale = w.version(), true
	return &ui.Error{Status: http.StatusConflict, Message: "Somebody has changed this webhook since you opened the form, so nothing is saved. What you typed is still here: saved again, it replaces what there is now."}
}

// check reads which of the latest changes the form would match.
func check(v *ui.Visit, f *webhookForm, body []byte) (*webhookPreview, error) {
	var p webhookPreview
	shown := slices.Concat([]byte(`{"eventTypes": `), []byte(f.JSON), []byte("}"))
	v.API.Note(http.MethodPost, "api/webhook/preview", shown)
	if err := v.Quiet().Do(http.MethodPost, "api/webhook/preview", body, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

// formWords replaces the start of a refusal by the words of the form.
var formWords = []struct{ is, with string }{
	{"Invalid QueryFilter2 token ", "It cannot be read as a filter of the type: "},
	{"Unknown AssetType: ", "There is no type "},
	{"Unknown AttributeDefinition: ", "There is no attribute "},
	{"Invalid OID token: ", "There is no member "},
	{"webhookId ", "Name "},
	{"url ", "Address "},
	{"description ", "Description "},
	{"maxBatch ", "Most events in a delivery "},
	{"authorizationHeader ", "Authorization header "},
	{"secret ", "Signing secret "},
}

// refusal returns a refusal with the words of the form. For definitions that were entered as
// text, it adds the line and column.
func (f *webhookForm) refusal(refused *ui.Error, before int) string {
	text := ui.Readable(refused.Message)
	for _, w := range formWords {
		if rest, begins := strings.CutPrefix(text, w.is); begins {
			text = w.with + rest
			break
		}
	}
	if f.AsJSON && refused.Position != nil && *refused.Position >= before && *refused.Position < before+len(f.JSON) {
		text += " (" + placeIn(f.JSON, *refused.Position-before) + ")"
	}
	return text
}

// showSaved redirects to the page of the subscription. If a secret was generated, it shows the
// page with the secret, because the interface returns it only once.
func showSaved(v *ui.Visit, f webhookForm, made *webhook) error {
	if made.Secret != "" && f.Secret == "generate" {
		v.Request.SetPathValue("id", made.ID)
		v.Writer.Header().Set("Cache-Control", "no-store")
		return renderWebhook(v, webhookPage{Made: made.Secret})
	}
	return v.Redirect("/ui/webhooks/" + url.PathEscape(made.ID) + "?done=saved")
}
