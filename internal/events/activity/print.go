package activity

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
)

// item appends an entry to the answer, as an item in JSON.
// Spec: interface 2.8.
func (x *reader) item(e *entry) error {
	from, o := len(x.w), x.assets[e.ID]
	if x.items > 0 {
		x.w = append(x.w, ',')
	}
	x.items, x.last = x.items+1, e.Moment
	x.w = append(x.w, `{"body":{"actor":`...)
	actor := x.actor(e.audit)
	x.w = append(x.w, `,"verb":"`...)
	x.w = append(x.w, e.verb...)
	x.w = append(x.w, `","object":`...)
	x.object(o)
	x.w = append(x.w, `,"time":"`...)
	x.w = value.AppendInstant(x.w, e.audit.at)
	x.w = append(x.w, `","summary":`...)
	x.w = value.AppendString(x.w, actor+" "+string(e.verb)+" "+o.t.Name+" '"+o.display()+"'")
	x.w = append(x.w, `,"provider":{"stream":"`...)
	x.w = oid.OID{Type: x.root.t.Name, ID: x.root.t.Shown(x.root.id)}.Append(x.w)
	x.w = append(x.w, `","commitSeq":`...)
	x.w = strconv.AppendInt(x.w, e.Moment, 10)
	x.w = append(x.w, `,"commitId":`...)
	x.w = value.AppendString(x.w, e.audit.request)
	x.w = append(x.w, `},"target":[`...)
	for i := range e.changes {
		if i > 0 {
			x.w = append(x.w, ',')
		}
		if err := x.target(e, &e.changes[i]); err != nil {
			return err
		}
	}
	x.w = append(x.w, "]}}"...)
	return x.grown(from)
}

// nobody is written in place of a member that the caller does not see.
const nobody = `{"id":"NULL","assetType":"Member","displayName":"","username":"","email":"","avatar":null}`

// actor appends the member who made a change, and returns the name of the member.
func (x *reader) actor(by *audit) string {
	a, m := x.assets[by.actor], x.people[by.actor]
	if a == nil || !a.seen || m == nil {
		x.w = append(x.w, nobody...)
		return "Somebody"
	}
	x.identity(a)
	x.w = append(x.w, `,"username":`...)
	x.w = value.AppendString(x.w, m.username)
	x.w = append(x.w, `,"email":`...)
	x.w = value.AppendString(x.w, m.email)
	x.w = append(x.w, `,"avatar":`...)
	if image := x.assets[m.avatar]; m.hasAvatar && image != nil && image.seen {
		x.w = value.AppendString(x.w, image.oid().String())
	} else {
		x.w = append(x.w, "null"...)
	}
	if by.application != "" {
		x.w = value.AppendString(append(x.w, `,"application":`...), by.application)
	}
	if by.tool != "" {
		x.w = value.AppendString(append(x.w, `,"tool":`...), by.tool)
	}
	x.w = append(x.w, '}')
	return a.display()
}

// object appends the asset that was changed, with its number and its project.
func (x *reader) object(a *asset) {
	x.reference(a)
	x.w = append(x.w[:len(x.w)-1], `,"number":`...)
	x.w = value.AppendString(x.w, a.number)
	x.w = append(x.w, `,"scope":`...)
	if scope := x.assets[a.scope]; a.hasScope && scope != nil && scope.seen {
		x.reference(scope)
	} else {
		x.w = append(x.w, "null"...)
	}
	x.w = append(x.w, '}')
}

// reference appends an asset with its name. Example:
// {"id":"Story:1003","assetType":"Story","displayName":"Pay","assetState":"Active"}.
func (x *reader) reference(a *asset) {
	x.identity(a)
	x.w = append(x.w, `,"assetState":`...)
	x.w = value.AppendRow(x.w, value.Scalar{Form: value.Int, N: a.state}, meta.State, nil)
	x.w = append(x.w, '}')
}

// identity appends the first fields of an asset. It does not close the JSON object.
func (x *reader) identity(a *asset) {
	x.w = append(x.w, `{"id":"`...)
	x.w = a.oid().Append(x.w)
	x.w = append(x.w, `","assetType":"`...)
	x.w = append(x.w, a.t.Name...)
	x.w = append(x.w, `","displayName":`...)
	x.w = value.AppendString(x.w, a.display())
}

// target appends a change of an attribute.
func (x *reader) target(e *entry, c *change.Change) error {
	x.w = append(x.w, `{"name":"`...)
	x.w = append(x.w, c.Attr.Name...)
	x.w = append(x.w, `","newValue":`...)
	now, err := x.value(c.Attr, c.New)
	if err != nil {
		return err
	}
	x.w = append(x.w, `,"oldValue":`...)
	old := c.Old
	if !e.seenBefore {
		old = nil
	}
	was, err := x.value(c.Attr, old)
	if err != nil {
		return err
	}
	x.w = append(x.w, `,"verb":"`...)
	x.w = append(x.w, c.Act...)
	x.w = append(x.w, `","summary":`...)
	x.w = value.AppendString(x.w, summary(c, now, was))
	x.w = append(x.w, '}')
	return nil
}

// maxSummary is the maximum number of characters of a value in a summary.
const maxSummary = 200

// summary describes the change of a value in words.
func summary(c *change.Change, now, was string) string {
	switch c.Act {
	case change.Added:
		return c.Attr.Name + " was Added '" + short(now) + "'"
	case change.Removed:
		return c.Attr.Name + " was Removed '" + short(was) + "'"
	}
	return c.Attr.Name + " was Set to '" + short(now) + "'"
}

func short(text string) string {
	if len(text) <= maxSummary {
		return text
	}
	n := 0
	for i := range text {
		if n == maxSummary {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// value appends a value and returns the value as text for the summary. The text is empty if there
// is no value, or if the caller does not see the value.
// Spec: interface 2.8.2.
func (x *reader) value(a *meta.Attr, v any) (words string, err error) {
	if a.Kind == meta.Relation {
		id, ok := v.(int64)
		to := x.assets[id]
		switch {
		case !ok || to == nil || !to.seen:
			x.w = append(x.w, `""`...)
			return "", nil
		case to.t.IsA(x.list):
			x.w = value.AppendString(x.w, to.display())
		default:
			x.reference(to)
		}
		return to.display(), nil
	}
	words, err = text(a, v)
	x.w = value.AppendString(x.w, words)
	return words, err
}

// text returns a value that is not a relation as text. It returns an empty text for the content of
// attachments and for passwords.
func text(a *meta.Attr, v any) (string, error) {
	if v == nil || a.Kind == meta.Blob || a.Kind == meta.Password {
		return "", nil
	}
	if s, ok := v.(string); ok && a.Kind != meta.Boolean {
		return strings.ToValidUTF8(s, string(utf8.RuneError)), nil
	}
	x, ok := value.Of(v)
	if !ok {
		return "", fmt.Errorf("%s has a value of the unknown type %T", a.Token(), v)
	}
	if a.Kind == meta.Numeric {
		return number(x), nil
	}
	printed := value.AppendRow(nil, x, a.Kind, a)
	if len(printed) > 0 && printed[0] == '"' {
		var s string
		err := json.Unmarshal(printed, &s)
		return s, err
	}
	return string(printed), nil
}

// decimals is the minimum number of digits after the decimal point.
const decimals = 2

// number returns a number in decimal form without losing digits. Examples: 3.00, 0.125.
func number(x value.Scalar) string {
	f := x.F
	switch x.Form {
	case value.Int:
		f = float64(x.N)
	case value.Text:
		f, _ = strconv.ParseFloat(string(x.T), 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	_, behind, ok := strings.Cut(s, ".")
	if !ok {
		s += "."
	}
	return s + strings.Repeat("0", max(0, decimals-len(behind)))
}
