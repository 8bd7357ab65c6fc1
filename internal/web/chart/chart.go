package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is the content of a drawing.
type Chart struct {
	ID          string // HTML id of the title; unique in the page, only letters
	Title       string
	Description string   // alternative text for people who cannot see the drawing
	Labels      []string // one for each position from left to right
	Series      []Series
}

// Series is a line, or a band of a stack, with one value for each label. NaN means no value.
type Series struct {
	Name   string
	Dashed bool // true: the line is dashed
	Values []float64
}

// largest limits the values that are drawn; a larger value is drawn as largest. Sums and
// scales of values up to largest do not overflow.
const largest = 1e300

// Bounded limits a value to the range from -largest to largest. NaN stays NaN.
func Bounded(v float64) float64 { return min(max(v, -largest), largest) }

// layout has the size of a drawing and the margins for its axes, in units of the SVG.
type layout struct {
	class                    string // CSS class, in addition to the class of all drawings
	mark                     string // appended to the ID of the chart
	width, height            float64
	left, right, top, bottom float64
	labels                   int // maximum number of labels below the drawing
	// inRow is the number of series names in each row below the drawing. 0 means that the
	// names are at the right, where the series end.
	inRow int
}

// layouts are the two drawings of every chart: one for wide screens, and one for phones with
// letters of the same size. The style sheet shows one of them.
var layouts = []layout{
	{width: 800, height: 320, left: 48, right: 150, top: 12, bottom: 28, labels: 8},
	{class: " phone", mark: "-phone", width: 360, height: 240, left: 44, right: 12, top: 12, bottom: 28, labels: 4, inRow: 2},
}

// maxTicks limits the numbered lines of the vertical axis.
const maxTicks = 6

// whole returns the height of a drawing, including the rows of names for this number of
// series.
func (l layout) whole(series int) float64 {
	if l.inRow == 0 {
		return l.height
	}
	return l.height + float64((series+l.inRow-1)/l.inRow*lineHeight)
}

// scale converts values to positions in the drawing.
type scale struct {
	layout
	places int
	most   float64
}

func (s scale) x(i int) float64 {
	if s.places < 2 {
		return s.left
	}
	return s.left + float64(i)*(s.width-s.left-s.right)/float64(s.places-1)
}

func (s scale) y(value float64) float64 {
	return s.height - s.bottom - Bounded(value)/s.most*(s.height-s.top-s.bottom)
}

// draw draws a chart in each layout, with a vertical axis up to the value most. The function series
// draws the content and returns the vertical position at which each series ends.
func draw(c Chart, most float64, series func(b *strings.Builder, s scale) (ends []float64)) template.HTML {
	step := axisStep(most, maxTicks)
	var b strings.Builder
	for _, l := range layouts {
		s := scale{layout: l, places: len(c.Labels), most: ceil(most, step)}
		begin(&b, c, s, step)
		names(&b, c.Series, s, series(&b, s))
		b.WriteString("</svg>")
	}
	return template.HTML(b.String())
}

// Blank returns an empty placeholder with the size of a chart with this number of series.
func Blank(series int) template.HTML {
	var b strings.Builder
	for _, l := range layouts {
		fmt.Fprintf(&b, `<svg class="chart%s" viewBox="0 0 %s %s" aria-hidden="true"></svg>`, l.class, at(l.width), at(l.whole(series)))
	}
	return template.HTML(b.String())
}

// Lines draws each series as a line.
func Lines(c Chart) template.HTML {
	most := 0.0
	for _, series := range c.Series {
		for _, v := range series.Values {
			if !math.IsNaN(v) {
				most = max(most, Bounded(v))
			}
		}
	}
	return draw(c, most, func(b *strings.Builder, s scale) []float64 {
		ends := make([]float64, len(c.Series))
		for i, series := range c.Series {
			dash := ""
			if series.Dashed {
				dash = ` stroke-dasharray="6 5"`
			}
			fmt.Fprintf(b, `<polyline class="line s%d" fill="none" stroke-width="2.5"%s points="%s"/>`, i, dash, points(s, series.Values))
			ends[i] = s.y(last(series.Values))
		}
		return ends
	})
}

// Stack draws each series as a band on top of the previous one.
func Stack(c Chart) template.HTML {
	upper := upperEdges(c.Series, len(c.Labels))
	most := 0.0
	if len(upper) > 0 {
		for _, v := range upper[len(upper)-1] {
			most = max(most, v)
		}
	}
	return draw(c, most, func(b *strings.Builder, s scale) []float64 {
		lower := make([]float64, len(c.Labels))
		ends := make([]float64, len(c.Series))
		for i, line := range upper {
			fmt.Fprintf(b, `<polygon class="band s%d" stroke-width="1" points="%s"/>`, i, points(s, line)+" "+backwards(s, lower))
			if n := len(line); n > 0 {
				ends[i] = s.y((line[n-1] + lower[n-1]) / 2)
			}
			lower = line
		}
		return ends
	})
}

// upperEdges returns the upper edge of each band of a stack.
func upperEdges(series []Series, places int) [][]float64 {
	edges := make([][]float64, len(series))
	sum := make([]float64, places)
	for i, band := range series {
		for k := range sum {
			if k < len(band.Values) && !math.IsNaN(band.Values[k]) {
				sum[k] += Bounded(band.Values[k])
			}
		}
		edges[i] = slices.Clone(sum)
	}
	return edges
}

// axisStep returns the distance between two numbers on an axis that goes from 0 to the value most.
// ticks is the maximum number of steps. The distance is 1, 2 or 5 times a power of ten.
func axisStep(most float64, ticks int) float64 {
	if most < 1/largest || ticks < 1 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/float64(ticks))))
	for _, f := range []float64{1, 2, 5} {
		if most <= f*power*float64(ticks) {
			return f * power
		}
	}
	return 10 * power
}

// ceil returns the first multiple of step that is not below value. The result is never less than
// step.
func ceil(value, step float64) float64 {
	return max(step, math.Ceil(value/step-1e-9)*step)
}

// begin writes the title, the axes and their numbers.
func begin(b *strings.Builder, c Chart, s scale, step float64) {
	id := c.ID + s.mark
	fmt.Fprintf(b, `<svg class="chart%s" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-title %s-desc"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		s.class, at(s.width), at(s.whole(len(c.Series))), id, id, id, template.HTMLEscapeString(c.Title), id, template.HTMLEscapeString(c.Description))
	for v := 0.0; v <= s.most+step/2; v += step {
		fmt.Fprintf(b, `<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/><text class="axis" text-anchor="end" x="%s" y="%s">%s</text>`,
			at(s.left), at(s.width-s.right), at(s.y(v)), at(s.y(v)), at(s.left-6), at(s.y(v)+4), Number(v))
	}
	every := max(1, (len(c.Labels)+s.labels-1)/s.labels)
	for i := 0; i < len(c.Labels); i += every {
		x, anchor := s.x(i), "middle"
		if x > s.width-halfLabel {
			x, anchor = s.width, "end"
		}
		fmt.Fprintf(b, `<text class="axis" text-anchor="%s" x="%s" y="%s">%s</text>`, anchor, at(x), at(s.height-8), template.HTMLEscapeString(c.Labels[i]))
	}
}

// lineHeight is the distance between a name and the name below it.
const lineHeight = 16

// maxName limits the letters of a name. halfLabel is half the width of a date.
const (
	maxName   = 18
	halfLabel = 36
)

// names writes the names of series. The names are at the right, where the series end, and do not
// overlap. If the layout has rows of names, the names are below the drawing.
func names(b *strings.Builder, series []Series, s scale, ends []float64) {
	for i, y := range apart(ends, lineHeight, s.top+lineHeight/2, s.height-s.bottom) {
		x := s.width - s.right + 8
		if s.inRow > 0 {
			x = 8 + float64(i%s.inRow)*s.width/float64(s.inRow)
			y = s.height + float64(i/s.inRow*lineHeight) + 10
		}
		name := []rune(series[i].Name)
		if len(name) > maxName {
			name = append(name[:maxName-1], '…')
		}
		fmt.Fprintf(b, `<rect class="band s%d" x="%s" y="%s" width="10" height="10"/><text class="axis" x="%s" y="%s">%s</text>`,
			i, at(x), at(y-9), at(x+15), at(y), template.HTMLEscapeString(string(name)))
	}
}

// apart moves positions so that they have a minimum distance and keep their order. The moved
// positions stay between the values least and most if there is room.
func apart(places []float64, distance, least, most float64) []float64 {
	moved := slices.Clone(places)
	order := make([]int, len(moved))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(moved[a], moved[b]) })
	before := least - distance
	for _, i := range order {
		moved[i] = max(moved[i], before+distance)
		before = moved[i]
	}
	after := most + distance
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		moved[i] = min(moved[i], after-distance)
		after = moved[i]
	}
	return moved
}

// points returns the positions of values in the form of SVG, without missing values.
func points(s scale, values []float64) string {
	var b strings.Builder
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(at(s.x(i)) + "," + at(s.y(v)))
	}
	return b.String()
}

// backwards returns the positions of values from right to left.
func backwards(s scale, values []float64) string {
	list := make([]string, 0, len(values))
	for i := len(values) - 1; i >= 0; i-- {
		list = append(list, at(s.x(i))+","+at(s.y(values[i])))
	}
	return strings.Join(list, " ")
}

// last returns the last value that is not NaN, or 0.
func last(values []float64) float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return values[i]
		}
	}
	return 0
}

// at formats a position, rounded to a tenth of a unit.
func at(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Number formats a value for people: rounded to a hundredth, or with an exponent from 1e15.
// NaN becomes "".
func Number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}
