package describe

import (
	"fmt"
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
)

// formats has the formats of descriptions, by name.
var formats = map[string]document.Format{"json": document.JSON, "xml": document.XML}

// BenchmarkWholeModel makes the description of the whole model, like the first request for it. One
// model has no custom attributes; another has many, on the types of workitems.
func BenchmarkWholeModel(b *testing.B) {
	for _, n := range []int{0, 320} {
		m := grown(b, n)
		for name, f := range formats {
			b.Run(fmt.Sprintf("%s/custom=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					d := New(m, "1.2.3.4").Model("/alds/meta.v1", f)
					b.ReportMetric(float64(len(d.Body)), "bytes")
					b.ReportMetric(float64(len(d.Gzip)), "gzip-bytes")
				}
			})
		}
	}
}

// grown returns the model with n custom attributes.
func grown(t testing.TB, n int) *meta.Model {
	t.Helper()
	on := []string{"Story", "Defect", "Workitem", "Task"}
	c := meta.Custom{}
	for i := range n {
		c.Attributes = append(c.Attributes, meta.CustomAttribute{
			ID: int64(5000 + i), Type: on[i%len(on)], Name: fmt.Sprintf("Custom_Field%d", i), Display: fmt.Sprintf("Field %d", i), Kind: meta.LongText,
		})
	}
	m, err := meta.Default().Extend(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkNextModel makes the description of a model that has one custom attribute more than
// the previous one.
func BenchmarkNextModel(b *testing.B) {
	d, next := New(grown(b, 320), "1.2.3.4"), grown(b, 321)
	for name, f := range formats {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d.parts = New(d.model, d.version).parts
				d.With(d.model).Model("/alds/meta.v1", f)
				b.StartTimer()
				d.With(next).Model("/alds/meta.v1", f)
			}
		})
	}
}
