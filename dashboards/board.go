package main

import "strings"

// board is a dashboard.
type board struct {
	file  string // without .json; its address ends with it, too
	title string
	about string
	rows  []row
}

// row is panels under a heading.
type row struct {
	title  string
	panels []panel
}

// panel is a graph or numbers. All its queries have one unit.
type panel struct {
	title, about string
	unit         unit
	queries      []query
	isNumber     bool
	warn, alarm  float64           // where it turns yellow and red; 0: nowhere
	isLow        bool              // it is red below alarm, not from it on
	words        map[string]string // shown in the place of values
	more         string            // file of the dashboard that has details; empty: none
}

// unit is one of Grafana's.
type unit string

const (
	whole        unit = "none" // a number without decimals
	count        unit = "short"
	perSecond    unit = "ops"
	requests     unit = "reqps"
	seconds      unit = "s"
	size         unit = "bytes"
	bytesASecond unit = "binBps"
	share        unit = "percentunit" // 1 is all
)

// graph is a panel of lines.
func graph(title, about string, u unit, queries ...query) panel {
	return panel{title: title, about: about, unit: u, queries: queries}
}

// number is a panel of one whole number for each series.
func number(title, about string, queries ...query) panel {
	return panel{title: title, about: about, unit: whole, queries: queries, isNumber: true}
}

// above colours a panel from two values on; warn may be 0.
func (p panel) above(warn, alarm float64) panel {
	p.warn, p.alarm = warn, alarm
	return p
}

// needed colours a panel where it shows less than 1.
func (p panel) needed() panel {
	p.alarm, p.isLow = 1, true
	return p
}

// calls shows words in the place of values.
func (p panel) calls(words map[string]string) panel {
	p.words = words
	return p
}

// to leads from a panel to the dashboard that has details.
func (p panel) to(file string) panel {
	p.more = file
	return p
}

// query is an expression of Prometheus and how its series are called, by their labels.
type query struct{ expr, legend string }

// as gives the series of a query another name.
func (q query) as(legend string) query { return query{q.expr, legend} }

// Which series are meant: those of the processes that were chosen, or those of the
// installation, where every process tells the same or one tells for all.
const (
	these        = `job="$job", instance=~"$instance"`
	installation = `job="$job"`
)

// rate is how often in a second a counter grows, by a label or, where that is empty, in
// all. A metric may have a selector: name{result="failed"}.
func rate(metric, by string) query { return grows("rate", metric, "[$__rate_interval]", by) }

// lastHour is how often a counter grew in the last hour: what is rare cannot be seen as a
// rate.
func lastHour(metric, by string) query { return grows("increase", metric, "[1h]", by) }

func grows(function, metric, within, by string) query {
	return query{"sum" + grouped(by) + "(" + function + "(" + selected(metric, these) + within + "))", legend(by, metric)}
}

// gauge is a value of each process.
func gauge(metric string) query {
	return query{"sum by (instance) (" + selected(metric, these) + ")", "{{instance}}"}
}

// sum is a value of all processes together.
func sum(metric string) query {
	return query{"sum(" + selected(metric, these) + ")", metric}
}

// known is a value of the installation, such as one that is read from its database.
func known(metric, by string) query {
	return query{"max" + grouped(by) + "(" + selected(metric, installation) + ")", legend(by, metric)}
}

// part is which share of its limit a value of each process is.
func part(metric, limit string) query {
	return query{"sum by (instance) (" + selected(metric, these) + " / " + selected(limit, these) + ")", "{{instance}}"}
}

// slow is what 95 of 100 observations of a histogram stay below, by a label or in all.
func slow(histogram, by string) query {
	return quantile("95", rate(buckets(histogram), strings.TrimSuffix("le, "+by, ", "))).as(legend(by, "95 %"))
}

// spread is what 50, 95 and 99 of 100 observations of a histogram stay below.
func spread(histogram string) (three []query) {
	for _, percent := range []string{"50", "95", "99"} {
		three = append(three, quantile(percent, rate(buckets(histogram), "le")).as(percent+" %"))
	}
	return three
}

// buckets are those of a histogram, which may have a selector.
func buckets(histogram string) string {
	name, selector, _ := strings.Cut(histogram, "{")
	if selector != "" {
		selector = "{" + selector
	}
	return name + "_bucket" + selector
}

// quantile is one of buckets.
func quantile(percent string, buckets query) query {
	return query{"histogram_quantile(0." + percent + ", " + buckets.expr + ")", ""}
}

// selected is the series of a metric, which may have a selector, with these labels.
func selected(metric, labels string) string {
	name, selector, _ := strings.Cut(strings.TrimSuffix(metric, "}"), "{")
	if selector != "" {
		labels += ", " + selector
	}
	return name + "{" + labels + "}"
}

func grouped(by string) string {
	if by == "" {
		return ""
	}
	return " by (" + by + ") "
}

func legend(by, metric string) string {
	if by == "" {
		return metric
	}
	return "{{" + by + "}}"
}

// most is the ten largest series of a query.
func most(q query) query { return query{"topk(10, " + q.expr + ")", q.legend} }
