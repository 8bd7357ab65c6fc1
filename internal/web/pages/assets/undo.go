package assets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/web/ui"
)

// undoPage shows what an undo would change, before it is done.
type undoPage struct {
	undoChoice
	Assets    []undoneAsset
	More      int            // assets that are not shown
	Conflicts []undoConflict // what has changed since
	Unlisted  int            // conflicts that are not shown
	Hidden    int            // conflicts with assets that the reader does not see
	Failures  []undoFailure
	Kept      []undoKept
	Whole     string // path below the base of the page for the whole write; empty: this page is it
	Message   string // why the undo was refused
	Names     ui.Names
	words     ui.Words
}

// undoChoice says what to take back: one change of one asset, whole writes, or what an access token
// has written since a time. Request has the ids of writes, separated by commas.
type undoChoice struct{ Asset, Moment, Request, By, Since string }

// undoneAsset is an asset with the changes that the undo makes.
type undoneAsset struct {
	Oid     string
	Changes []undoneChange
}

// undoneChange is the change of one attribute.
type undoneChange struct{ Label, Old, New string }

// undoConflict is something that has changed since. Spec: interface 4.17.1.
type undoConflict struct {
	Asset, Attribute, ChangedBy string
	ChangeDate                  time.Time
	Label                       string `json:"-"`
}

// undoFailure is an asset that the reader may not change.
type undoFailure struct {
	Asset string
	Error struct{ Message string }
}

// undoKept names something that no undo takes back.
type undoKept struct{ Asset, What string }

// undoPreview is the answer to a preview of an undo. Spec: interface 4.17.
type undoPreview struct {
	Requests  struct{ IDs []string }
	Conflicts struct {
		List          []undoConflict
		Count, Hidden int
	}
	Failures  struct{ List []undoFailure }
	NotUndone []undoKept
	Changes   []effectChange
}

// effectChange is a change of one attribute of an asset. A plan has also the creation of an asset, and the asset that
// comes next after a new rank.
type effectChange struct {
	Asset, Attribute string
	Old, New, Next   any
	Added, Removed   []string
	Created          bool
}

// maxUndone limits the assets, and the conflicts, that the page shows.
const maxUndone = 100

// Nothing reports whether the undo would change nothing.
func (p *undoPage) Nothing() bool { return len(p.Assets) == 0 }

// InConflict reports whether something has changed since.
func (p *undoPage) InConflict() bool {
	return len(p.Conflicts) > 0 || p.Hidden > 0 || len(p.Failures) > 0
}

// SinceTime returns the time since which the changes of an access token are taken back.
func (c *undoChoice) SinceTime() time.Time {
	at, _ := time.Parse(time.RFC3339, c.Since)
	return at
}

// body returns the body of a request to the interface.
func (c *undoChoice) body() map[string]any {
	if c.Request != "" && strings.Contains(c.Request, ",") {
		return map[string]any{"requestId": strings.Split(c.Request, ",")}
	}
	if c.Request != "" {
		return map[string]any{"requestId": c.Request}
	}
	if c.By != "" {
		return map[string]any{"by": c.By, "since": c.Since}
	}
	moment, _ := strconv.ParseInt(c.Moment, 10, 64)
	return map[string]any{"asset": c.Asset, "moment": moment}
}

// readChoice reads what to take back. Errors: *ui.Error.
func readChoice(param func(string) string) (c undoChoice, err error) {
	if c.Request = param("request"); c.Request != "" {
		if !ui.IsWrites(c.Request) {
			return c, &ui.Error{Status: http.StatusBadRequest, Message: "request is the id of a write."}
		}
		return c, nil
	}
	if c.By, c.Since = param("by"), param("since"); c.By != "" {
		if _, err := uuid.Parse(c.By); err != nil {
			return c, &ui.Error{Status: http.StatusBadRequest, Message: "by is the id of an access token."}
		}
		if _, err := time.Parse(time.RFC3339, c.Since); err != nil {
			return c, &ui.Error{Status: http.StatusBadRequest, Message: "since is an instant such as 2027-01-31T12:00:00Z."}
		}
		return c, nil
	}
	o, err := readOid(param("asset"))
	if err != nil {
		return c, err
	}
	c.Asset, c.Moment = o.Now().String(), param("moment")
	if !isMoment(c.Moment) || c.Moment == "0" {
		return c, &ui.Error{Status: http.StatusBadRequest, Message: "moment is the whole number of a version."}
	}
	return c, nil
}

// showUndo serves GET ui/undo: it shows what an undo would change.
func showUndo(v *ui.Visit) error {
	c, err := readChoice(v.Param)
	if err != nil {
		return err
	}
	return showUndoOf(v, c, "")
}

func showUndoOf(v *ui.Visit, c undoChoice, message string) error {
	page := undoPage{undoChoice: c, Message: message}
	var p undoPreview
	if err := v.API.Post("api/undo?previewOnly=true", c.body(), &p); err != nil {
		return err
	}
	if err := page.fill(v, &p); err != nil {
		return err
	}
	sent, err := json.MarshalIndent(c.body(), "", " ")
	if err != nil {
		return err
	}
	v.Sends("api/undo", string(sent))
	return v.Render("undo", "Undo", &page)
}

// fill sets what the page shows from the answer to a preview.
func (p *undoPage) fill(v *ui.Visit, a *undoPreview) error {
	p.Conflicts = a.Conflicts.List[:min(len(a.Conflicts.List), maxUndone)]
	p.Hidden, p.Failures, p.Kept = a.Conflicts.Hidden, a.Failures.List[:min(len(a.Failures.List), maxUndone)], a.NotUndone
	p.Unlisted = a.Conflicts.Count - p.Hidden - len(p.Conflicts)
	if p.Asset != "" && len(a.Requests.IDs) == 1 {
		p.Whole = ui.Link("", "/ui/undo", "request", a.Requests.IDs[0])
	}
	var oids, tags []string
	seen := map[string]bool{}
	for _, c := range a.Changes {
		if !seen[c.Asset] {
			seen[c.Asset] = true
			if len(seen) > maxUndone {
				continue
			}
		}
		oids = append(append(append(oids, c.Asset, texts(c.Old), texts(c.New), texts(c.Next)), c.Added...), c.Removed...)
		tags = append(tags, attributeTag(c.Asset, c.Attribute))
	}
	for _, c := range p.Conflicts {
		oids, tags = append(oids, c.Asset, c.ChangedBy), append(tags, attributeTag(c.Asset, c.Attribute))
	}
	for _, f := range p.Failures {
		oids = append(oids, f.Asset)
	}
	for _, k := range p.Kept {
		oids = append(oids, k.Asset)
	}
	var err error
	if p.Names, err = v.NamesOf(oids...); err != nil {
		return err
	}
	if p.words, err = v.Words(tags); err != nil {
		return err
	}
	for i := range p.Conflicts {
		if c := &p.Conflicts[i]; c.Attribute != "" {
			c.Label = p.words.Of(attributeTag(c.Asset, c.Attribute))
		}
	}
	p.More = max(0, len(seen)-maxUndone)
	at := map[string]int{}
	for _, c := range a.Changes {
		i, known := at[c.Asset]
		if !known {
			if len(p.Assets) == maxUndone {
				continue
			}
			i = len(p.Assets)
			at[c.Asset], p.Assets = i, append(p.Assets, undoneAsset{Oid: c.Asset})
		}
		if c.Created {
			continue
		}
		one := undoneChange{p.words.Of(attributeTag(c.Asset, c.Attribute)), p.shown(texts(c.Old)), p.shown(texts(c.New))}
		if c.Added != nil || c.Removed != nil {
			one.Old, one.New = p.names(c.Removed), p.names(c.Added)
		}
		if c.Next != nil {
			one.New = "before " + p.shown(texts(c.Next))
		}
		p.Assets[i].Changes = append(p.Assets[i].Changes, one)
	}
	return nil
}

// attributeTag returns the tag of the name of an attribute of an asset.
func attributeTag(asset, attribute string) string {
	kind, _, _ := strings.Cut(asset, ":")
	return "AttributeDefinition'" + attribute + "'" + kind
}

// texts returns a value of an answer as text.
func texts(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

var isTag = regexp.MustCompile(`<[^<>]*>`)

// shown returns a value for people: a name in place of an Oid, and a text without tags.
func (p *undoPage) shown(text string) string {
	return short(isTag.ReplaceAllString(p.Names.Of(text), ""))
}

func (p *undoPage) names(all []string) string {
	named := make([]string, len(all))
	for i, text := range all {
		named[i] = p.Names.Of(text)
	}
	return short(strings.Join(named, ", "))
}

// undo serves POST ui/undo: it takes back what the page before has shown.
func undo(v *ui.Visit) error {
	c, err := readChoice(v.Field)
	if err != nil {
		return err
	}
	body := c.body()
	if v.Field("conflicts") == "skip" {
		body["conflicts"] = "skip"
	}
	var done struct {
		AssetsModified struct {
			OidTokens []string `json:"oidTokens"`
		} `json:"assetsModified"`
	}
	if err = v.Once(); err == nil {
		err = v.API.Post("api/undo", body, &done)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return showUndoOf(v, c, v.Readable(refused.Message))
	}
	to := c.Asset
	if to == "" && len(done.AssetsModified.OidTokens) > 0 {
		to = done.AssetsModified.OidTokens[0]
	}
	if to == "" {
		return v.Redirect(ui.Link("", "/ui/undo", "request", c.Request, "by", c.By, "since", c.Since, "done", "same"))
	}
	return v.Redirect(assetLink(to, "tab", "history", "done", "undone"))
}
