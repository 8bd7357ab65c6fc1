package chart

import (
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestStep(t *testing.T) {
	for _, c := range []struct {
		most float64
		want float64
	}{{0, 1}, {1, 0.2}, {6, 1}, {7, 2}, {12, 2}, {13, 5}, {30, 5}, {31, 10}, {34512, 10000}, {0.5, 0.1}, {5e-324, 1}} {
		if got := axisStep(c.most, 6); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("axisStep(%v) is %v, want %v", c.most, got, c.want)
		}
	}
}

func TestUpper(t *testing.T) {
	got := upperEdges([]Series{{Values: []float64{1, 2, 3}}, {Values: []float64{10, math.NaN()}}}, 3)
	if want := [][]float64{{1, 2, 3}, {11, 2, 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestApart(t *testing.T) {
	for _, c := range []struct{ places, want []float64 }{
		{nil, nil},
		{[]float64{50, 20}, []float64{50, 20}},
		{[]float64{50, 50, 50}, []float64{50, 60, 70}},
		{[]float64{98, 99}, []float64{90, 100}},
		{[]float64{0, 1}, []float64{10, 20}},
	} {
		if got := apart(c.places, 10, 10, 100); !reflect.DeepEqual(got, c.want) {
			t.Errorf("apart(%v) is %v, want %v", c.places, got, c.want)
		}
	}
}

func TestPoints(t *testing.T) {
	s := scale{layout: layouts[0], places: 3, most: 10}
	if got, want := points(s, []float64{0, math.NaN(), 10}), "48,292 650,12"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := backwards(s, []float64{0, 5, 10}), "650,12 349,152 48,292"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := points(scale{layout: layouts[0], places: 1, most: 1}, []float64{1}), "48,12"; got != want {
		t.Errorf("one place: got %q, want %q", got, want)
	}
}

func TestDrawings(t *testing.T) {
	c := Chart{
		ID: "flow", Title: "A <b> & c", Description: `"d"`, Labels: []string{"2026-01-01", "<script>"},
		Series: []Series{{Name: "<script>alert(1)</script>", Values: []float64{1, 2}}, {Name: "None", Dashed: true, Values: []float64{math.NaN(), 3}}},
	}
	for name, svg := range map[string]string{"lines": string(Lines(c)), "stack": string(Stack(c))} {
		for _, bad := range []string{"<script", "<b>", "NaN", "Inf", "style="} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s: %q is in %s", name, bad, svg)
			}
		}
		for _, part := range []string{`role="img"`, `aria-labelledby="flow-title flow-desc"`, `aria-labelledby="flow-phone-title flow-phone-desc"`, "A &lt;b&gt; &amp; c", "&lt;script&gt;alert(1", "</svg>"} {
			if !strings.Contains(svg, part) {
				t.Errorf("%s: no %q in %s", name, part, svg)
			}
		}
	}
	huge := Chart{ID: "a", Labels: []string{"x", "y"}, Series: []Series{{Values: []float64{1e308, math.Inf(1)}}, {Values: []float64{1.7e308, -1e308}}}}
	// Without the limit largest, the scale of this value would be infinite.
	finite := Chart{ID: "a", Labels: []string{"x"}, Series: []Series{{Values: []float64{1.7e308}}}}
	for name, svg := range map[string]string{"lines": string(Lines(huge)), "stack": string(Stack(huge)), "a finite value": string(Lines(finite))} {
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s of huge values: %s", name, svg)
		}
	}
	for name, svg := range map[string]string{"lines": string(Lines(Chart{ID: "a"})), "stack": string(Stack(Chart{ID: "a"}))} {
		if strings.Contains(svg, "NaN") || !strings.HasSuffix(svg, "</svg>") {
			t.Errorf("%s of nothing: %s", name, svg)
		}
	}
}

// TestLayouts checks that each chart is drawn for wide screens and for phones. It also checks that
// nothing exceeds the drawing and that Blank has the size of the chart.
func TestLayouts(t *testing.T) {
	c := Chart{ID: "a", Labels: []string{"2026-01-01", "2026-01-02", "2026-01-03"}, Series: []Series{{Name: "One"}, {Name: "Two"}, {Name: "Three"}}}
	sizes := regexp.MustCompile(`class="chart[^"]*" viewBox="[^"]*"`)
	want := []string{`class="chart" viewBox="0 0 800 320"`, `class="chart phone" viewBox="0 0 360 272"`}
	for name, svg := range map[string]string{"lines": string(Lines(c)), "stack": string(Stack(c)), "blank": string(Blank(3))} {
		if got := sizes.FindAllString(svg, -1); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	_, phone, _ := strings.Cut(string(Lines(c)), "chart phone")
	for _, part := range []string{
		`text-anchor="end" x="360" y="232">2026-01-03`, `y="250">One`, `y="250">Two`, `y="266">Three`,
	} {
		if !strings.Contains(phone, part) {
			t.Errorf("no %q in %s", part, phone)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.5: "1.5", 1.0 / 3: "0.33", math.NaN(): "", 12345: "12345", 1e308: "1e+308", -1.5e15: "-1.5e+15"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) is %q, want %q", v, got, want)
		}
	}
}
