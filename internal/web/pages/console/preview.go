package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of a preview.
const (
	maxPreviewed = 200 // commands that are shown
	maxPiece     = 300 // bytes of one piece of a difference
	maxName      = 80  // bytes of a name within a sentence
)

// errUnread reports that current values could not be read.
var errUnread = errors.New("the current values cannot be read")

// previewed is the effect that a request would have.
type previewed struct {
	Effects []effect
	Hidden  int // commands that are not shown
	Reads   int // queries among the commands; they change nothing

	made map[string]string // descriptions of created assets, by alias
}

// effect is the effect of a command on one asset.
type effect struct {
	Does       string // such as "Create"
	Oid        string // Oid of the asset; empty: not yet known
	Name       string // name or description of the asset
	Operation  string
	Attributes []attributeEffect
	Refused    *commandFailure // refused for lack of rights; nil: not refused

	changes jsonObject // attributes of an update
	values  jsonObject // attributes of a create
}

// attributeEffect is the new value of an attribute.
type attributeEffect struct {
	Name   string
	Pieces []ui.Piece
	Same   bool // same as the current value
}

// changesNothing reports whether the asset would keep all its values.
func (e *effect) changesNothing() bool {
	return e.Does == changes && e.Oid != "" && !slices.ContainsFunc(e.Attributes, func(a attributeEffect) bool { return !a.Same })
}

// Nothing reports whether no command would change anything.
func (p *previewed) Nothing() bool {
	return p.Hidden == 0 && !slices.ContainsFunc(p.Effects, func(e effect) bool { return e.Does != unchanged })
}

// Values of Does for updates.
const (
	changes   = "Change"
	unchanged = "Unchanged"
)

// previewRequest shows what a request would change.
func previewRequest(v *ui.Visit, c console) (*ran, error) {
	r, got, err := send(v, "preview", commandPath+"?previewOnly=true", c.Request)
	if err != nil || r.Message != "" {
		return r, err
	}
	value, err := parseOrdered(got.Body)
	if err != nil {
		return nil, fmt.Errorf("read the preview: %w", err)
	}
	list, _ := value.([]any)
	p := &previewed{made: map[string]string{}, Hidden: max(0, len(list)-maxPreviewed)}
	for _, item := range list[:len(list)-p.Hidden] {
		command, _ := item.(jsonObject)
		p.add(command)
	}
	r.Previewed = p
	var refused []*commandFailure
	for _, e := range p.Effects {
		if e.Refused != nil {
			refused = append(refused, e.Refused)
		}
	}
	r.locateFailures(c.Request, refused)
	if err := compareEffects(v, p); !errors.Is(err, errUnread) {
		return r, err
	}
	r.Message = "What there is now could not be read: it is too large, or the service is busy. So what would be stands alone."
	return r, nil
}

// add adds the effect of a command from the answer to a preview. Spec: interface 4.3.8.
func (p *previewed) add(command jsonObject) {
	alias := ""
	var what jsonObject
	for _, m := range command {
		if value, _ := m.Value.(jsonObject); strings.HasPrefix(m.Name, "@") {
			alias, what = m.Name, value
		}
	}
	before := len(p.Effects)
	switch {
	case what.has("AssetType"):
		p.create(what, alias, "")
	case what.has("update"), what.has("execute"):
		p.change(what)
	case what.has("from"):
		p.Reads++
	default:
		p.Effects = append(p.Effects, effect{Does: "Unknown", Name: beginOf(compactJSON(command), maxShownCommand)})
	}
	if refused := failureOf(command); refused.Message != "" && before < len(p.Effects) {
		p.Effects[before].Refused = &refused
	}
}

// create adds a new asset, followed by the assets that are created within it.
func (p *previewed) create(what jsonObject, alias, within string) {
	e := effect{Does: "Create", Name: fmt.Sprint(what.get("AssetType")) + within}
	if strings.HasSuffix(alias, "$auto-aliased") {
		p.made[alias] = "the new " + e.Name
		if name, ok := what.get("Name").(string); ok {
			p.made[alias] += " " + beginOf(name, maxName)
		}
	} else if alias != "" {
		e.Name += ", " + alias
	}
	type inner struct {
		what   jsonObject
		within string
	}
	var nested []inner
	for _, m := range what {
		var plain []any
		for _, item := range asList(m.Value) {
			if o, ok := item.(jsonObject); ok && o.has("AssetType") {
				nested = append(nested, inner{o, " in its " + m.Name})
			} else {
				plain = append(plain, item)
			}
		}
		if m.Name != "AssetType" && len(plain) > 0 {
			e.values = append(e.values, jsonMember{Name: m.Name, Value: plain})
		}
	}
	p.Effects = append(p.Effects, e)
	for _, n := range nested {
		p.create(n.what, "", n.within)
	}
}

// attributeName returns the label of a member of a create.
func attributeName(name string) string {
	if name == "#ContextOid" {
		return "in the context of"
	}
	return name
}

// change adds an update or operation on one asset, or on the assets that its query will find.
func (p *previewed) change(what jsonObject) {
	e := effect{Does: changes}
	if e.Oid, _ = what.get("oid").(string); e.Oid == "" {
		e.Name = fmt.Sprint(what.get("from"))
		for _, key := range []string{"where", "filter", "with"} {
			if what.has(key) {
				e.Name += ", " + key + " " + beginOf(compactJSON(what.get(key)), maxShownCommand)
			}
		}
		e.Name += " – found when it runs"
	}
	e.changes, _ = what.get("update").(jsonObject)
	switch op := what.get("execute").(type) {
	case string:
		e.Does, e.Operation = "Run", op
	case jsonObject:
		e.Does, e.Operation = "Run", fmt.Sprint(op.get("op"))
		for _, key := range []string{"args", "list"} {
			if text := compactJSON(op.get(key)); op.has(key) && text != "{}" {
				e.Operation += " " + beginOf(text, maxShownCommand)
			}
		}
	}
	p.Effects = append(p.Effects, e)
}

// asList returns a list unchanged. It returns any other value as a list with one item.
func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// compareEffects reads the current values and sets the differences of all effects. If the
// values cannot be read, it still sets the new values. Errors: errUnread; *ui.Error.
func compareEffects(v *ui.Visit, p *previewed) error {
	now, unread := presentValues(v, p.Effects)
	if unread != nil && !errors.Is(unread, errUnread) {
		return unread
	}
	var shown []any
	for _, e := range p.Effects {
		shown = append(shown, e.Oid, e.changes, e.values, now[e.Oid])
	}
	names, err := namesOf(v, shown)
	if err != nil && !errors.Is(err, errUnread) {
		return err
	}
	maps.Copy(names, p.made)
	var d ui.Differences
	for i := range p.Effects {
		if err := v.Request.Context().Err(); err != nil {
			return err // the client has disconnected, or the time is over
		}
		e := &p.Effects[i]
		if e.Oid != "" {
			e.Name = names[e.Oid]
		}
		for _, m := range e.values {
			e.Attributes = append(e.Attributes, attributeEffect{Name: attributeName(m.Name), Pieces: addedPieces(asList(m.Value), names)})
		}
		for _, m := range e.changes {
			before, known := now[e.Oid].get(m.Name), now[e.Oid].has(m.Name)
			pieces, after := changeOf(before, m.Value, known, names, &d)
			if known {
				now[e.Oid].set(m.Name, after) // later commands start from this value
			}
			same := known && !slices.ContainsFunc(pieces, func(p ui.Piece) bool { return p.Added || p.Removed })
			e.Attributes = append(e.Attributes, attributeEffect{Name: m.Name, Pieces: pieces, Same: same})
		}
		if e.changesNothing() {
			e.Does = unchanged
		}
	}
	return unread
}

// presentValues reads the current values of the attributes that the effects change. Key: Oid.
// Values that cannot be read are missing. Errors: those of eachRow.
func presentValues(v *ui.Visit, effects []effect) (map[string]jsonObject, error) {
	groups := map[string][]string{} // Oids by type and attributes
	wanted := map[string][]string{}
	for _, e := range effects {
		if e.Oid == "" || len(e.changes) == 0 {
			continue
		}
		typ, _, _ := strings.Cut(e.Oid, ":")
		var attributes []string
		for _, m := range e.changes {
			attributes = append(attributes, m.Name)
		}
		key := typ + " " + strings.Join(attributes, " ")
		wanted[key] = attributes
		groups[key] = append(groups[key], e.Oid)
	}
	var queries []any
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		typ, _, _ := strings.Cut(key, " ")
		queries = append(queries, ui.Query{"from": typ, "filter": anyOf(groups[key]), "select": wanted[key]})
	}
	found := map[string]jsonObject{}
	err := eachRow(v, queries, func(row jsonObject) {
		oid := fmt.Sprint(row.get("_oid"))
		found[oid] = append(found[oid], row...)
	})
	return found, err
}

// anyOf returns a filter for these Oids.
func anyOf(oids []string) string { return "ID='" + strings.Join(oids, "','") + "'" }

// namesOf reads the names of all Oids within some values. Assets without a name are missing.
// Errors: those of eachRow.
func namesOf(v *ui.Visit, values []any) (map[string]string, error) {
	byType := map[string]map[string]bool{}
	for _, value := range values {
		eachOid(value, func(oid string) {
			typ, _, _ := strings.Cut(oid, ":")
			if byType[typ] == nil {
				byType[typ] = map[string]bool{}
			}
			if len(byType[typ]) < maxPreviewed {
				byType[typ][oid] = true
			}
		})
	}
	var queries []any
	for _, typ := range slices.Sorted(maps.Keys(byType)) {
		oids := slices.Sorted(maps.Keys(byType[typ]))
		queries = append(queries, ui.Query{"from": typ, "filter": anyOf(oids), "select": []string{"Name"}})
	}
	names := map[string]string{}
	err := eachRow(v, queries, func(row jsonObject) {
		name, _ := row.get("Name").(string)
		names[fmt.Sprint(row.get("_oid"))] = ui.RoleName(name)
	})
	return names, err
}

// eachOid calls do for every Oid within a value.
func eachOid(v any, do func(oid string)) {
	switch v := v.(type) {
	case string:
		if namesAsset(v) {
			do(v)
		}
	case []any:
		for _, item := range v {
			eachOid(item, do)
		}
	case jsonObject:
		for _, m := range v {
			eachOid(m.Value, do)
		}
	}
}

// eachRow runs queries in one request and calls do for every row. If one query fails, the other
// queries still return rows. Errors: errUnread; *ui.Error if the session is not valid.
func eachRow(v *ui.Visit, queries []any, do func(row jsonObject)) error {
	if len(queries) == 0 {
		return nil
	}
	var answer struct {
		QueryResult struct{ Results []json.RawMessage }
	}
	err := v.API.Do(http.MethodPost, commandPath, []byte(compactJSON(queries)), &answer)
	if f, _ := ui.AsError(err); f != nil && f.Status == http.StatusUnauthorized {
		return err
	} else if err != nil {
		return errUnread
	}
	for _, rows := range answer.QueryResult.Results {
		value, err := parseOrdered(rows)
		if err != nil {
			return err
		}
		for _, row := range asList(value) {
			if row, ok := row.(jsonObject); ok {
				do(row)
			}
		}
	}
	return nil
}
