package main

// object is a JSON object.
type object = map[string]any

// dashboard returns the board in Grafana's schema.
func (b board) dashboard() object {
	return object{
		"uid": uid(b.file), "title": "alds: " + b.title, "description": b.about, "tags": []string{"alds"},
		"schemaVersion": 39, "version": 1, "editable": true, "timezone": "", "refresh": "10s", "graphTooltip": 1,
		"time":        object{"from": "now-1h", "to": "now"},
		"templating":  object{"list": variables()},
		"annotations": object{"list": annotations()},
		"links":       links(),
		"panels":      b.panels(),
	}
}

// uid returns the end of the URL of a dashboard.
func uid(file string) string { return "alds-" + file }

// columns is the width of Grafana's grid.
const columns = 24

// panels returns the panels of all rows, from top to bottom.
func (b board) panels() (all []object) {
	y := 0
	place := func(o object, x, width, height int) {
		o["id"], o["gridPos"] = len(all)+1, object{"x": x, "y": y, "w": width, "h": height}
		all = append(all, o)
	}
	for _, r := range b.rows {
		place(object{"type": "row", "title": r.title, "collapsed": false, "panels": []any{}}, 0, columns, 1)
		y++
		for _, line := range r.lines() {
			width, height := columns/len(line), line[0].height()
			for n, p := range line {
				place(p.object(), n*width, width, height)
			}
			y += height
		}
	}
	return all
}

// lines spreads the panels of a row evenly: up to four numbers or three graphs on each line.
func (r row) lines() (all [][]panel) {
	most := 3
	if r.panels[0].isNumber {
		most = 4
	}
	n := (len(r.panels) + most - 1) / most
	for line := range n {
		all = append(all, r.panels[line*len(r.panels)/n:(line+1)*len(r.panels)/n])
	}
	return all
}

func (p panel) height() int {
	if p.isNumber {
		return 4
	}
	return 8
}

// source is the data source in the variable of the dashboard.
var source = object{"type": "prometheus", "uid": "${datasource}"}

func (p panel) object() object {
	kind, options := "timeseries", object{
		"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
	if p.isNumber {
		kind, options = "stat", object{
			"colorMode": "value", "graphMode": "none", "textMode": "value_and_name",
			"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		}
	}
	targets := make([]object, len(p.queries))
	for n, q := range p.queries {
		targets[n] = object{"refId": string(rune('A' + n)), "datasource": source, "expr": q.expr, "legendFormat": q.legend}
	}
	o := object{
		"type": kind, "title": p.title, "description": p.about, "datasource": source, "targets": targets,
		"options": options, "fieldConfig": object{"defaults": p.defaults(), "overrides": []any{}},
	}
	if p.more != "" {
		o["links"] = []object{{"title": "Details", "url": "/d/" + uid(p.more) + "?${__url_time_range}&${__all_variables}"}}
	}
	return o
}

// defaults returns the unit, the colours and the lines of all series of a panel.
func (p panel) defaults() object {
	d := object{"unit": p.unit, "min": 0, "thresholds": object{"mode": "absolute", "steps": p.steps()}}
	if p.unit == whole {
		d["decimals"] = 0
	}
	if p.words != nil {
		texts := object{}
		for value, word := range p.words {
			texts[value] = object{"text": word}
		}
		d["mappings"] = []object{{"type": "value", "options": texts}}
	}
	if !p.isNumber {
		lines := object{"lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": false}
		if p.alarm != 0 {
			lines["thresholdsStyle"] = object{"mode": "dashed"}
		}
		d["custom"] = lines
	}
	return d
}

// steps returns the colours, each with the value from which it applies. The first colour has no
// value, since it applies to the lowest values.
func (p panel) steps() []object {
	from := func(colour string, value any) object { return object{"color": colour, "value": value} }
	switch {
	case p.alarm == 0:
		return []object{from("green", nil)}
	case p.isLow:
		return []object{from("red", nil), from("green", p.alarm)}
	case p.warn == 0:
		return []object{from("green", nil), from("red", p.alarm)}
	default:
		return []object{from("green", nil), from("yellow", p.warn), from("red", p.alarm)}
	}
}

// variables returns the lists of choices at the top of a dashboard. The list of processes has only
// the processes of the chosen roles. Its choice All means all processes in the list. So the choice
// of a role selects the processes of this role.
func variables() []object {
	choice := func(name, label, query string, many bool) object {
		v := object{
			"type": "query", "name": name, "label": label, "datasource": source, "query": object{"query": query, "refId": name},
			"refresh": 2, "sort": 1, "multi": many, "includeAll": many,
		}
		if many {
			v["current"] = object{"text": []string{"All"}, "value": []string{"$__all"}}
		}
		return v
	}
	return []object{
		{"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"},
		choice("job", "Installation", `label_values(alds_app_build_info, job)`, false),
		choice("role", "Role", `label_values(alds_app_build_info{job="$job"}, role)`, true),
		choice("instance", "Process", `label_values(alds_app_build_info{job="$job", role=~"$role"}, instance)`, true),
	}
}

// annotations mark the first two minutes of a version, and the times of critical alerts.
func annotations() []object {
	mark := func(name, colour, expr, title string) object {
		return object{
			"name": name, "enable": true, "iconColor": colour, "datasource": source, "expr": expr, "titleFormat": title, "step": "15s", "useValueForTime": false,
		}
	}
	const versions = `count by (version) (alds_app_build_info{` + installation + `}`
	return []object{
		mark("Releases", "blue", versions+`) unless `+versions+` offset 2m)`, "{{version}}"),
		mark("Critical alerts", "red", `ALERTS{`+installation+`, alertstate="firing", severity="critical"}`, "{{alertname}}"),
	}
}

// links returns the links to the other dashboards, with the current choices, and to the
// runbooks.
func links() []object {
	return []object{
		{"type": "dashboards", "title": "alds", "tags": []string{"alds"}, "asDropdown": false, "includeVars": true, "keepTime": true},
		{"type": "link", "title": "Runbooks", "url": "https://github.com/alds-dev/alds/blob/main/docs/runbooks.md", "icon": "doc", "targetBlank": true},
	}
}
