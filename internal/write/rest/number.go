package rest

import (
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// plainNumbers makes the numbers among the texts of changes plain: existing clients
// write them as people of their language do, 1,000.5 in English and 1.000,5 in
// German. A text that is plain already stays as it is.
//
// In XML, where every number is a text, one that a language writes with commas may
// mean two: 1.000. It is refused. In JSON it is what JSON says.
// Errors: fault.Invalid. Spec: interface 4.1.5.
func plainNumbers(t *meta.Type, changes []asset.Change, accept string, inXML bool) error {
	var written localizer.Numbers
	for i := range changes {
		ch := &changes[i]
		if a, ok := t.Attr(ch.Name); !ok || !value.IsNumber(a.Kind) {
			continue
		}
		if written == (localizer.Numbers{}) {
			written = localizer.NumbersIn(accept)
		}
		for _, list := range [][]asset.Value{ch.Set, ch.Add} {
			for k := range list {
				v := &list[k]
				if v.Kind != asset.Text {
					continue
				}
				if inXML && written.IsAmbiguous(v.Text) {
					return fault.Invalidf(ch.At, "Violation'Invalid'%s.%s: %s may be two numbers in the language of the request; send it without separators", t.Name, ch.Name, v.Text)
				}
				v.Text = written.Plain(v.Text)
			}
		}
	}
	return nil
}
