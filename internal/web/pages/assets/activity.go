package assets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// activityPage is the tab with the changes of an asset and its parts.
type activityPage struct {
	*asset
	Items []activityItem
	Older string // path below the base; empty: there are no older changes
}

// activityItem is one change. Spec: interface 2.8.
type activityItem struct {
	Actor    activityActor
	Object   activityRef
	Verb     string
	Time     time.Time
	Target   []activityTarget
	Provider struct{ CommitID string } // the id of the write
	Own      bool                      // the object is the asset of this page
}

// activityActor is the member who made a change, and by which means: the name of an access token, and a tool.
type activityActor struct {
	activityRef
	Application, Tool string
}

// activityRef is a reference to an asset.
type activityRef struct{ ID, AssetType, DisplayName, Number string }

// activityTarget is an attribute that an activity changed.
type activityTarget struct {
	Name, Verb         string
	OldValue, NewValue activityValue
	Label              string `json:"-"`
}

// activityValue is a value as text. For a relation it is the name of the related asset.
type activityValue string

// UnmarshalJSON decodes a text or a reference.
func (t *activityValue) UnmarshalJSON(b []byte) error {
	var to activityRef
	if json.Unmarshal(b, &to) == nil {
		*t = activityValue(ui.RoleName(to.DisplayName))
		return nil
	}
	var text string
	err := json.Unmarshal(b, &text)
	*t = activityValue(short(text))
	return err
}

// showActivity shows the activity stream of an asset.
func showActivity(v *ui.Visit, o oid.OID) error {
	a, err := load(v, o.Now())
	if err != nil {
		return err
	}
	after := v.Param("after")
	if after != "" && !isMoment(after) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "after is the whole number that the link to older changes has."}
	}
	page := activityPage{asset: a}
	if err := readActivity(v, &page, after); err != nil {
		return err
	}
	return v.Render("activity", "Activity of "+a.title(), page)
}

// activityCounts are numbers of activities per request, which are tried in this order. A smaller
// number is tried if an answer with long texts is too large to read.
var activityCounts = []int{maxListed, maxListed / 10, 1}

func readActivity(v *ui.Visit, page *activityPage, after string) error {
	var answer ui.Answer
	var err error
	for _, count := range activityCounts {
		path := "api/ActivityStream/" + url.PathEscape(page.Oid) + "?deleted=true&maxCount=" + strconv.Itoa(count)
		if after != "" {
			path += "&after=" + after
		}
		v.API.Note(http.MethodGet, path, nil)
		if answer, err = v.API.Raw(http.MethodGet, path, "", nil); err == nil {
			break
		}
		if v.Request.Context().Err() != nil {
			return err
		}
	}
	if err != nil {
		page.Cut = true
		return nil
	}
	if answer.Status >= http.StatusBadRequest {
		return answer.Err()
	}
	var items []struct{ Body activityItem }
	if err := json.Unmarshal(answer.Body, &items); err != nil {
		return fmt.Errorf("read the activity stream: %w", err)
	}
	var result struct{ Next json.Number }
	if json.Unmarshal([]byte(answer.Header.Get("Alds-Result")), &result) == nil && isMoment(result.Next.String()) {
		page.Older = assetLink(page.Oid, "tab", "activity", "after", result.Next.String())
	}
	for _, one := range items {
		one.Body.Object.DisplayName = ui.RoleName(one.Body.Object.DisplayName)
		one.Body.Own = one.Body.Object.ID == page.Oid
		page.Items = append(page.Items, one.Body)
	}
	for _, one := range page.Items {
		page.wordValues(&one)
	}
	return nameTargets(v, page.Items)
}

// wordValues formats the values of an activity for people.
func (a *asset) wordValues(i *activityItem) {
	t := a.model.Types[i.Object.AssetType]
	if t == nil {
		return
	}
	for j := range i.Target {
		one := &i.Target[j]
		attribute := t.ByName[one.Name]
		one.OldValue, one.NewValue = activityValue(shownAs(attribute, string(one.OldValue))), activityValue(shownAs(attribute, string(one.NewValue)))
	}
}

// nameTargets sets the labels of the attributes in all activities.
func nameTargets(v *ui.Visit, items []activityItem) error {
	tag := func(i *activityItem, t activityTarget) string {
		return "AttributeDefinition'" + t.Name + "'" + i.Object.AssetType
	}
	var tags []string
	seen := map[string]bool{}
	for i := range items {
		for _, t := range items[i].Target {
			if name := tag(&items[i], t); !seen[name] {
				seen[name] = true
				tags = append(tags, name)
			}
		}
	}
	names, err := v.Words(tags)
	if err != nil {
		return err
	}
	for i := range items {
		for j, t := range items[i].Target {
			items[i].Target[j].Label = names.Of(tag(&items[i], t))
		}
	}
	return nil
}
