package assets

import (
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/web/ui"
)

// comment is an expression that mentions the asset. Spec: interface 1.
type comment struct {
	Oid      string        `json:"_oid"`
	Author   string        `json:"Author.Name"`
	At       string        `json:"AuthoredAt"`
	Content  string        `json:"Content"`
	To       string        `json:"InReplyTo.Author.Name"`
	HTML     template.HTML `json:"-"`
	Instant  template.HTML `json:"-"`
	BelongTo ui.Reference  `json:"BelongsTo"`
}

// maxComments limits the comments on the page of an asset. maxComment limits the characters of a new one.
const (
	maxComments = 100
	maxComment  = 20_000
)

// commented reports whether people comment on assets of a type.
func (a *asset) commented() bool {
	return a.kind.ByName["MentionedInExpressions"] != nil && !a.model.IsA(a.kind.Token, "List")
}

// readComments reads the latest comments on the asset, the oldest of them first.
func readComments(v *ui.Visit, view *assetView) error {
	if !view.commented() || view.Deleted {
		return nil
	}
	err := v.API.Find([]ui.Query{{
		"from": "Expression", "where": map[string]string{"Mentions": view.Oid},
		"select": []string{"Author.Name", "AuthoredAt", "Content", "InReplyTo.Author.Name"},
		"sort":   []string{"-AuthoredAt", "-ID"}, "page": map[string]int{"size": maxComments + 1, "start": 0},
	}}, &view.Comments)
	if err != nil {
		return err
	}
	if view.OlderComments = len(view.Comments) > maxComments; view.OlderComments {
		view.Comments = view.Comments[:maxComments]
	}
	slices.Reverse(view.Comments)
	for i, c := range view.Comments {
		view.Comments[i].HTML, view.Comments[i].Instant = ui.Sanitized(c.Content), dateOf(c.At)
	}
	view.Talks, view.Draft = true, v.Field("content")
	v.Sends("api/asset?atomic=true", `{"AssetType": "Expression", "Content": "…", "Mentions": "`+view.Oid+`", "BelongsTo": {"AssetType": "Conversation"}}`)
	return nil
}

// commentOn serves POST ui/asset/<Oid>/comment: a comment on the asset, or a reply to one. Members whose names
// follow an @ take part in the conversation. They are no mentions of the expression: those would let everybody
// who sees the member read the comment.
func commentOn(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	to := o.Now().String()
	if err = v.Once(); err == nil {
		err = writeComment(v, to, v.Field("content"), v.Field("reply"))
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return showRead(v, o.Now(), v.Readable(refused.Message))
	}
	if v.Field("back") == "work" { // the form stands on the first page
		return v.Redirect("/ui/?done=commented")
	}
	return v.Redirect(assetLink(to, "done", "commented") + "#comments")
}

func writeComment(v *ui.Visit, to, content, reply string) error {
	switch {
	case content == "":
		return &ui.Error{Status: http.StatusBadRequest, Message: "Write a comment first."}
	case utf8.RuneCountInString(content) > maxComment:
		return &ui.Error{Status: http.StatusBadRequest, Message: "A comment has at most 20,000 characters."}
	case reply != "" && !ui.IsOid(reply, "Expression"):
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form does not say to which comment this is a reply."}
	}
	all, err := membersCalled(v, content)
	if err != nil {
		return err
	}
	called := slices.Concat(all...)
	slices.Sort(called)
	called = slices.Compact(called)
	say := map[string]any{"AssetType": "Expression", "Content": asComment(content), "Mentions": to}
	talk := map[string]any{"AssetType": "Conversation"}
	if len(called) > 0 {
		talk["Participants"] = called
	}
	if reply == "" {
		say["BelongsTo"] = talk
		_, err = v.API.Write(say)
		return err
	}
	var found []comment
	if err := v.API.Find([]ui.Query{{"from": reply, "select": []string{"BelongsTo"}}}, &found); err != nil {
		return err
	}
	say["InReplyTo"] = reply
	switch {
	case len(called) > 0: // a conversation belongs to who began it, so others cannot add members to it
		say["BelongsTo"] = talk
	case len(found) == 1 && found[0].BelongTo.Oid != "" && found[0].BelongTo.Oid != ui.NoAsset:
		say["BelongsTo"] = found[0].BelongTo.Oid
	}
	_, err = v.API.Write(say)
	return err
}

// asComment returns a text as HTML, with its line breaks.
func asComment(text string) string {
	return strings.ReplaceAll(template.HTMLEscapeString(asTyped(text)), "\n", "<br>")
}

// calls matches an @ with the text that follows it and may be a name.
var calls = regexp.MustCompile(`(?:^|[\s(])@([\pL\pN](?:[\pL\pN ._'-]{0,80}[\pL\pN])?)`)

// The most names that are looked up for one text, and the most members that are read for them.
const (
	maxCalled  = 20
	maxMatched = 200
)

// called is a member whose username, nickname or name a text may call.
type called struct {
	Oid                      string `json:"_oid"`
	Name, Nickname, Username string
}

// membersCalled returns, for each @ in a text, the Oids of the members with the name that follows it. It is empty if
// no member has the name, and has several Oids if several members have it.
func membersCalled(v *ui.Visit, text string) ([][]string, error) {
	var all [][]string
	var names []string
	for _, m := range calls.FindAllStringSubmatch(text, maxCalled) {
		all = append(all, beginnings(m[1]))
		names = append(names, all[len(all)-1]...)
	}
	if len(names) == 0 {
		return nil, nil
	}
	var members []called
	err := v.Quiet().Find([]ui.Query{{
		"from": "Member", "select": []string{"Name", "Nickname", "Username"}, "filter": []string{"AssetState='Active'", "Username=$Names|Nickname=$Names|Name=$Names"},
		"with": map[string]any{"$Names": names}, "page": map[string]int{"size": maxMatched, "start": 0},
	}}, &members)
	for i, names := range all {
		all[i] = matched(names, members)
	}
	return all, err
}

// matched returns the Oids of the members with the first of the names that anybody has.
func matched(names []string, members []called) (oids []string) {
	for _, name := range names {
		for _, m := range members {
			if strings.EqualFold(name, m.Username) || strings.EqualFold(name, m.Nickname) || strings.EqualFold(name, m.Name) {
				oids = append(oids, m.Oid)
			}
		}
		if len(oids) > 0 {
			return oids
		}
	}
	return nil
}

// beginnings returns the first three, two and one words of a text: a name may have several words, and more text may
// follow it. A word may be followed by a dot or the like, which is no part of the name.
func beginnings(text string) (all []string) {
	words := strings.Fields(text)
	for n := min(3, len(words)); n > 0; n-- {
		name := strings.Join(words[:n], " ")
		if all = append(all, name); strings.TrimRight(name, ".-'") != name {
			all = append(all, strings.TrimRight(name, ".-'"))
		}
	}
	return all
}
