package webhook

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/encode"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
)

// maxEvents and maxBytes bound one delivery; a single event may be larger.
const (
	maxEvents = 100
	maxBytes  = 256 << 10
)

// event is one change with what all its readers share.
type event struct {
	step    change.Step
	changes []change.Change
	audit   *claimed
	wishes  []*wish // those it is for
	open    []*wish // and those whose filter or userContext is still to be asked
}

// oid names the asset at the moment of the change.
func (e *event) oid() oid.OID {
	t := e.step.Now.Type
	return oid.OID{Type: t.Name, ID: t.Shown(e.step.Now.ID), Moment: e.step.Now.Moment}
}

// printer appends events as JSON.
type printer struct {
	public  string
	types   map[int64]*meta.Type // by stored id, of every asset that changes mention
	members map[int64][]byte     // by stored id: the instigator as JSON
}

// middle appends what an event says apart from whom it is for and the snapshot.
//
// Shape: "sequenceId":12,"eventType":"AssetChanged",...,"changes":[...]
// Spec: interface 6.2; compat 9.22.
func (p *printer) middle(b []byte, e *event) ([]byte, error) {
	v := &e.step.Now
	kind := AssetChanged
	if e.step.IsCreation() {
		kind = AssetCreated
	}
	b = append(b, `"sequenceId":`...)
	b = strconv.AppendInt(b, v.Moment, 10)
	b = append(b, `,"eventType":"`...)
	b = append(b, kind...)
	b = append(b, `","timestamp":"`...)
	b = appendInstant(b, e.audit.at)
	b = append(b, `","instigator":`...)
	b = append(b, p.members[e.audit.actor]...)
	b = append(b, `,"targetAsset":{"_oid":"`...)
	b = e.oid().Append(b)
	b = append(b, `","assetType":"`...)
	b = append(b, v.Type.Name...)
	b = append(b, `","href":`...)
	b = p.href(b, e.oid().Now())
	b = append(b, `},"changes":[`...)
	for i := range e.changes {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = p.change(b, &e.changes[i]); err != nil {
			return nil, fmt.Errorf("event of %s: %w", e.oid(), err)
		}
	}
	return append(b, ']'), nil
}

// test appends the event of a delivery that only tries whether events arrive:
// its eventType says so, and nothing has changed.
func (p *printer) test(b []byte, webhookID string, member oid.OID, stored, at int64) []byte {
	b = append(b, `{"webhookId":`...)
	b = encode.String(b, webhookID)
	b = append(b, `,"sequenceId":0,"eventType":"`+Test+`","timestamp":"`...)
	b = appendInstant(b, at)
	b = append(b, `","instigator":`...)
	b = append(b, p.members[stored]...)
	b = append(b, `,"targetAsset":{"_oid":"`...)
	b = member.Append(b)
	b = append(b, `","assetType":"`+member.Type+`","href":`...)
	b = p.href(b, member)
	return append(b, `},"changes":[],"snapshot":[]}`...)
}

// href appends the address of an asset's page as a JSON string.
func (p *printer) href(b []byte, o oid.OID) []byte {
	return encode.String(b, p.public+"/assetdetail.v1?oid="+o.String())
}

func (p *printer) change(b []byte, c *change.Change) ([]byte, error) {
	b = append(b, `{"name":"`...)
	b = append(b, c.Attr.Name...)
	b = append(b, '"')
	var err error
	if c.Old != nil {
		b = append(b, `,"old":`...)
		if b, err = p.value(b, c.Attr, c.Old); err != nil {
			return nil, err
		}
	}
	if c.New != nil || c.Act == change.Set {
		b = append(b, `,"new":`...)
		if b, err = p.value(b, c.Attr, c.New); err != nil {
			return nil, err
		}
	}
	b = append(b, `,"act":"`...)
	b = append(b, c.Act...)
	return append(b, `"}`...), nil
}

// value appends one value as a query row shows it: numbers as strings, a
// missing asset as {"_oid":"NULL"}.
// Spec: compat 5 (row rendering), 9.22.
func (p *printer) value(b []byte, a *meta.Attr, v any) ([]byte, error) {
	if a.Kind == meta.Relation {
		return p.relation(b, a, v)
	}
	switch n := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, n), nil
	case string:
		return encode.String(b, n), nil
	case float64:
		return encode.String(b, number(n)), nil
	case int64:
		return integer(b, a, n), nil
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return integer(b, a, i), nil
		}
		f, err := n.Float64()
		return encode.String(b, number(f)), err
	}
	return nil, fmt.Errorf("%s holds a %T", a.Token(), v)
}

func integer(b []byte, a *meta.Attr, n int64) []byte {
	switch a.Kind {
	case meta.State:
		if name, ok := query.StateNames[n]; ok {
			return encode.String(b, name)
		}
	case meta.Date:
		return encode.String(b, date(a, n))
	case meta.Boolean:
		return strconv.AppendBool(b, n != 0)
	default:
	}
	return encode.String(b, strconv.FormatInt(n, 10))
}

func (p *printer) relation(b []byte, a *meta.Attr, v any) ([]byte, error) {
	b = append(b, `{"_oid":"`...)
	if v == nil {
		return append(b, `NULL"}`...), nil
	}
	id, ok := v.(int64)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T", a.Token(), v)
	}
	t := p.types[id]
	if t == nil {
		t = a.Related // an asset that never was: shown by what it should have been
	}
	b = oid.OID{Type: t.Name, ID: t.Shown(id)}.Append(b)
	return append(b, `"}`...), nil
}

// number prints a double as query rows do: without an exponent where that is
// short.
func number(f float64) string {
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'g'
	}
	return strconv.FormatFloat(f, form, -1, 64)
}

func date(a *meta.Attr, micros int64) string {
	switch t := time.UnixMicro(micros).UTC(); {
	case a.DateOnly:
		return t.Format("2006-01-02")
	case a.UTC:
		return instant(micros)
	default:
		return t.Format("2006-01-02T15:04:05.000")
	}
}
