package rest

import (
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset"
)

// plainNumbers converts the texts of numeric attributes to plain numbers. Existing clients send
// numbers as people write them in the language of accept, the Accept-Language header: 1,000.5 in
// English and 1.000,5 in German. Plain numbers do not change.
//
// In XML every number is a text. If the language has a decimal comma, 1.000 may mean one or one
// thousand. In XML such a text is refused. In JSON it means one.
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
					const form = "Violation'Invalid'%s.%s: %s may be two numbers in the language of the request; " +
						"send it without separators"
					return fault.Invalidf(ch.At, form, t.Name, ch.Name, v.Text)
				}
				v.Text = written.Plain(v.Text)
			}
		}
	}
	return nil
}
