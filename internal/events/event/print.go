package event

import (
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
)

// Form selects how much of an event is printed.
type Form uint8

// The forms.
const (
	Whole   Form = iota // everything
	Reduced             // long values are replaced
	Bare                // without changes, and with only the Oid in each row of the snapshot
)

// Printer appends events as JSON. It is not safe for concurrent use.
type Printer struct {
	public  string
	types   map[int64]*meta.Type // by stored id: type of an asset to which a relation refers
	members map[int64][]byte     // by stored id: an instigator as JSON

	last *Event // the event whose common part, in the form Whole, is in the field text; nil: no event
	text []byte
}

// HideInstigator makes the printer write null in place of an instigator. member is the stored id of
// that instigator.
func (p *Printer) HideInstigator(member int64) { p.members[member] = []byte("null") }

// Common appends the part of an event that is the same for all subscriptions. Example:
// "sequenceId":12,"eventType":"AssetChanged",...,"changes":[...]
// Spec: interface 6.2.3.
func (p *Printer) Common(b []byte, e *Event) ([]byte, error) { return p.appendCommon(b, e, Whole) }

// common returns the common part of an event. The next call of common overwrites the result.
func (p *Printer) common(e *Event, form Form) (text []byte, err error) {
	if p.last == e && form == Whole {
		return p.text, nil
	}
	p.last = nil
	if p.text, err = p.appendCommon(p.text[:0], e, form); err == nil && form == Whole {
		p.last = e
	}
	return p.text, err
}

func (p *Printer) appendCommon(b []byte, e *Event, form Form) ([]byte, error) {
	kind := AssetChanged
	if e.Step.IsCreation() {
		kind = AssetCreated
	}
	by := p.members[e.Audit.Actor]
	if e.hidesInstigator {
		by = []byte("null")
	}
	b = p.head(b, e.Step.Now.Moment, kind, e.Audit.At, by, e.Audit, e.OID())
	for i := range e.Changes {
		if form == Bare {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.change(b, &e.Changes[i], form); err != nil {
			return nil, fmt.Errorf("event of %s: %w", e.OID(), err)
		}
	}
	return append(b, ']'), nil
}

// Test appends a test event. The member is both the target asset and the instigator of the event.
// The parameter stored is the stored id of the member, and at is the time of the event in UTC
// microseconds.
func (p *Printer) Test(b []byte, webhookID string, member oid.OID, stored, at int64) []byte {
	b = append(b, `{"webhookId":`...)
	b = append(value.AppendString(b, webhookID), ',')
	return append(p.head(b, 0, Test, at, p.members[stored], &Audit{}, member), `],"snapshot":[]}`...)
}

// head appends the part of an event before its changes. The parameter by is the instigator as JSON.
// The Request of the write is empty if no write made the event.
func (p *Printer) head(b []byte, sequence int64, kind Type, at int64, by []byte, write *Audit, target oid.OID) []byte {
	b = append(b, `"sequenceId":`...)
	b = strconv.AppendInt(b, sequence, 10)
	b = append(b, `,"eventType":"`...)
	b = append(b, kind...)
	b = append(b, `","timestamp":"`...)
	b = value.AppendInstant(b, at)
	if write.Request != "" {
		b = append(b, `","requestId":"`...)
		b = append(b, write.Request...)
	}
	if write.Reason != "" {
		b = append(b, `","reason":"`...)
		b = append(b, write.Reason...)
	}
	b = append(b, `","instigator":`...)
	b = append(b, by...)
	if len(by) > 0 && by[len(by)-1] == '}' {
		b = write.appendMeans(b[:len(b)-1])
		b = append(b, '}')
	}
	b = append(b, `,"targetAsset":{"_oid":"`...)
	b = target.Append(b)
	b = append(b, `","assetType":"`...)
	b = append(b, target.Type...)
	b = append(b, `","href":`...)
	b = p.href(b, target.Now())
	return append(b, `},"changes":[`...)
}

// appendMeans appends the members that say by which means the instigator has written.
func (a *Audit) appendMeans(b []byte) []byte {
	if a.Application != "" {
		b = value.AppendString(append(b, `,"application":`...), a.Application)
	}
	if a.Tool != "" {
		b = value.AppendString(append(b, `,"tool":`...), a.Tool)
	}
	return b
}

// href appends the URL of the page of an asset, as a JSON string.
func (p *Printer) href(b []byte, o oid.OID) []byte {
	return value.AppendString(b, p.public+"/assetdetail.v1?oid="+o.String())
}

func (p *Printer) change(b []byte, c *change.Change, form Form) ([]byte, error) {
	b = append(b, `{"name":"`...)
	b = append(b, c.Attr.Name...)
	b = append(b, '"')
	var err error
	from, isOld := reduced(c.Old, form)
	to, isNew := reduced(c.New, form)
	if c.Old != nil {
		b = append(b, `,"old":`...)
		if b, err = p.value(b, c.Attr, from); err != nil {
			return nil, err
		}
	}
	if c.New != nil || c.Act == change.Set {
		b = append(b, `,"new":`...)
		if b, err = p.value(b, c.Attr, to); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"act":"`...)
	b = append(append(b, c.Act...), '"')
	if isOld || isNew {
		b = append(b, `,"reduced":true`...)
	}
	return append(b, '}'), nil
}

// value appends a value in the form that query rows use. A relation without an asset is
// {"_oid":"NULL"}.
// Spec: interface 2.5.2, 6.2.3.
func (p *Printer) value(b []byte, a *meta.Attr, v any) ([]byte, error) {
	if a.Kind == meta.Relation {
		return p.relation(b, a, v)
	}
	x, ok := value.Of(v)
	if !ok {
		return nil, fmt.Errorf("%s has a value of the unknown type %T", a.Token(), v)
	}
	return value.AppendRow(b, x, a.Kind, a), nil
}

func (p *Printer) relation(b []byte, a *meta.Attr, v any) ([]byte, error) {
	b = append(b, `{"_oid":"`...)
	if v == nil {
		return append(b, `NULL"}`...), nil
	}
	id, ok := v.(int64)
	if !ok {
		return nil, fmt.Errorf("%s has a value of the unknown type %T", a.Token(), v)
	}
	t := p.types[id]
	if t == nil {
		t = a.Related // the asset does not exist
	}
	b = oid.OID{Type: t.Name, ID: t.Shown(id)}.Append(b)
	return append(b, `"}`...), nil
}
