package main

import "strings"

// board is a dashboard.
type board struct {
	file  string // without .json; the URL of the dashboard also ends with it
	title string
	about string
	rows  []row
}

// row is a group of panels under a heading.
type row struct {
	title  string
	panels []panel
}

// panel is a graph or a number. All its queries have the same unit.
type panel struct {
	title, about string
	unit         unit
	queries      []query
	isNumber     bool
	warn, alarm  float64           // values at which it turns yellow and red; 0: never
	isLow        bool              // true: red below alarm; false: red from alarm on
	words        map[string]string // shown in place of values
	more         string            // file of the dashboard with details; empty: none
}

// unit is a unit of Grafana.
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

// graph returns a panel with lines.
func graph(title, about string, u unit, queries ...query) panel {
	return panel{title: title, about: about, unit: u, queries: queries}
}

// number returns a panel with one whole number for each series.
func number(title, about string, queries ...query) panel {
	return panel{title: title, about: about, unit: whole, queries: queries, isNumber: true}
}

// above colours a panel from two values on; warn may be 0.
func (p panel) above(warn, alarm float64) panel {
	p.warn, p.alarm = warn, alarm
	return p
}

// needed colours a panel red if it shows less than 1.
func (p panel) needed() panel {
	p.alarm, p.isLow = 1, true
	return p
}

// calls shows words in place of values.
func (p panel) calls(words map[string]string) panel {
	p.words = words
	return p
}

// to links a panel to the dashboard with details.
func (p panel) to(file string) panel {
	p.more = file
	return p
}

// query is an expression of Prometheus, and the legend of its series by their labels.
type query struct{ expr, legend string }

// as gives the series of a query another legend.
func (q query) as(legend string) query { return query{q.expr, legend} }

// Selectors of series. these selects the chosen processes. installation selects all processes,
// for values that are the same in each or that only one reports.
const (
	these        = `job="$job", instance=~"$instance"`
	installation = `job="$job"`
)

// rate returns how often per second a counter grows, by a label, or in total if by is empty. A
// metric may have a selector: name{result="failed"}.
func rate(metric, by string) query { return grows("rate", metric, "[$__rate_interval]", by) }

// lastHour returns how often a counter grew in the last hour. The rate of rare events is too
// small to see.
func lastHour(metric, by string) query { return grows("increase", metric, "[1h]", by) }

func grows(function, metric, within, by string) query {
	return query{"sum" + grouped(by) + "(" + function + "(" + selected(metric, these) + within + "))", legend(by, metric)}
}

// gauge returns a value of each process.
func gauge(metric string) query {
	return query{"sum by (instance) (" + selected(metric, these) + ")", "{{instance}}"}
}

// sum returns a value summed over all processes.
func sum(metric string) query {
	return query{"sum(" + selected(metric, these) + ")", metric}
}

// known returns a value of the whole installation, for example a value from its database.
func known(metric, by string) query {
	return query{"max" + grouped(by) + "(" + selected(metric, installation) + ")", legend(by, metric)}
}

// part returns a value of each process as a share of its limit.
func part(metric, limit string) query {
	return query{"sum by (instance) (" + selected(metric, these) + " / " + selected(limit, these) + ")", "{{instance}}"}
}

// slow returns the 95th percentile of a histogram, by a label or in total.
func slow(histogram, by string) query {
	return quantile("95", rate(buckets(histogram), strings.TrimSuffix("le, "+by, ", "))).as(legend(by, "95 %"))
}

// spread returns the 50th, 95th and 99th percentiles of a histogram.
func spread(histogram string) (three []query) {
	for _, percent := range []string{"50", "95", "99"} {
		three = append(three, quantile(percent, rate(buckets(histogram), "le")).as(percent+" %"))
	}
	return three
}

// buckets returns the bucket metric of a histogram, which may have a selector.
func buckets(histogram string) string {
	name, selector, _ := strings.Cut(histogram, "{")
	if selector != "" {
		selector = "{" + selector
	}
	return name + "_bucket" + selector
}

// quantile returns a percentile of buckets.
func quantile(percent string, buckets query) query {
	return query{"histogram_quantile(0." + percent + ", " + buckets.expr + ")", ""}
}

// selected returns the series of a metric, which may have a selector, with more labels.
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

// most returns the ten largest series of a query.
func most(q query) query { return query{"topk(10, " + q.expr + ")", q.legend} }
