package pages

import (
	"net/http"
	"net/url"
	"strings"
)

// rankItem serves POST ui/project/<oid>/rank: it puts an item before or after another,
// which the form names by its Number or Oid. The script gets the refusal as text.
// Spec: interface 11.
func rankItem(v *visit) error {
	p, err := v.project("")
	if err != nil {
		return err
	}
	err = v.rank(p)
	refused, err := asFailure(err)
	if err != nil {
		return err
	}
	if v.isPart() {
		return v.sayRefusal(refused)
	}
	if refused != nil {
		v.status = refused.Status
		return v.backlogAgain(readable(refused.Message), "")
	}
	return v.to(p.Place("") + "?" + v.back("done", "ranked"))
}

// rank carries out the form of a rank. Errors: *failure.
func (v *visit) rank(p *project) error {
	place := map[string]string{"before": "Before", "after": "After"}[v.field("place")]
	moved := v.field("item")
	switch {
	case place == "":
		return &failure{Status: http.StatusBadRequest, Message: "An item goes before or after another."}
	case !isItem(moved):
		return &failure{Status: http.StatusBadRequest, Message: "Select the item to move."}
	}
	target, err := v.itemNamed(v.field("target"))
	if err != nil {
		return err
	}
	return v.change(p, moved, map[string]any{"Order": map[string]string{place: target}})
}

// change updates an item of a project: the path says where it is, so that the form of
// another project changes nothing. Errors: *failure.
func (v *visit) change(p *project, item string, update map[string]any) error {
	done, err := v.api.write(map[string]any{"from": item, "filter": []string{within}, "with": p.given(), "update": update})
	if err == nil && len(done.AssetsModified.OidTokens) == 0 {
		return &failure{Status: http.StatusNotFound, Message: "The item is no longer in this project."}
	}
	return err
}

// itemNamed returns the Oid of the item that a field names. Errors: *failure.
func (v *visit) itemNamed(text string) (string, error) {
	if isItem(text) {
		return text, nil
	}
	var found []named
	if text != "" && len(text) < maxFilterText {
		q := query{"from": "PrimaryWorkitem", "where": map[string]string{"Number": text}, "page": map[string]int{"size": 1, "start": 0}}
		if err := v.api.find([]query{q}, &found); err != nil {
			return "", err
		}
	}
	if len(found) == 0 {
		return "", &failure{Status: http.StatusBadRequest, Message: "Give the number of the item that it goes beside, such as S-01234: there is no “" + text + "”."}
	}
	return found[0].Oid, nil
}

// sayRefusal answers the script: 204, or the refusal as text.
func (v *visit) sayRefusal(refused *failure) error {
	v.protect()
	v.status = http.StatusNoContent
	if refused == nil {
		v.writeStatus()
		return nil
	}
	v.status = refused.Status
	return v.send("text/plain; charset=utf-8", []byte(readable(refused.Message)))
}

// addItem serves POST ui/project/<oid>/add: it makes an item, which stands last.
func addItem(v *visit) error {
	p, err := v.project("")
	if err != nil {
		return err
	}
	kind := v.field("type")
	if kind != "Defect" {
		kind = "Story"
	}
	done, err := v.api.write(map[string]any{"AssetType": kind, "Name": v.field("name"), "Scope": p.Oid})
	refused, err := asFailure(err)
	if err != nil {
		return err
	}
	if refused != nil {
		v.status = refused.Status
		return v.backlogAgain(readable(refused.Message), v.field("name"))
	}
	made := ""
	if len(done.AssetsCreated.OidTokens) == 1 {
		made, _ = cutMoment(done.AssetsCreated.OidTokens[0])
	}
	return v.to(p.Place("") + "?" + v.back("made", made))
}

// cutMoment parts an Oid from its moment, which may be absent.
func cutMoment(oid string) (asset, moment string) {
	if strings.Count(oid, ":") < 2 {
		return oid, ""
	}
	at := strings.LastIndexByte(oid, ':')
	return oid[:at], oid[at+1:]
}

// back is the query of the page that a form stands on, with a value more.
func (v *visit) back(name, value string) string {
	values, err := url.ParseQuery(v.field("return"))
	if err != nil {
		values = url.Values{}
	}
	for _, once := range []string{"made", "done"} {
		values.Del(once)
	}
	values.Set(name, value)
	return values.Encode()
}

// backlogAgain answers a refused form with the page that it stands on.
func (v *visit) backlogAgain(message, name string) error {
	v.returned()
	return v.backlog(message, name)
}

// returned gives the visit the query of the page that its form stands on.
func (v *visit) returned() {
	u := *v.r.URL
	u.RawQuery = v.field("return")
	v.r.URL = &u
}
