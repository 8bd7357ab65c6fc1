package rightstest

import (
	"slices"
	"strings"
)

// tells returns the attribute that shows the member whether the cell will succeed, or "" if there is none.
func (c *cell) tells() string {
	switch name, _ := changed(c.typ); {
	case c.path == byOid && c.name == name && c.slots[0].is == nil:
		return "CanUpdate"
	case c.path == byExecute && len(c.slots) == 1:
		op, _ := typeNamed(c.typ).Op(c.name)
		return op.Validator
	}
	return ""
}

// compareTold reads the attributes that tells returns, before the cells of the member run. It compares them
// with the expected outcomes of these cells.
func (w *world) compareTold(m *member) {
	byType := map[string][]*cell{}
	for _, c := range w.cells[m] {
		if c.tells() != "" {
			byType[c.typ] = append(byType[c.typ], c)
			w.told.Add(1)
		}
	}
	var commands []any
	var asked [][]*cell
	for typ, cells := range byType {
		var names []any
		var oids []string
		for _, c := range cells {
			oids = append(oids, c.slots[0].oid)
			if !slices.Contains(names, any(c.tells())) {
				names = append(names, c.tells())
			}
		}
		commands = append(commands, attrs{"from": typ, "filter": []any{always, "ID='" + strings.Join(oids, "','") + "'"}, "select": names})
		asked = append(asked, cells)
	}
	for i, rows := range w.send(m.login, commands).QueryResult.Results {
		shown := map[string]map[string]any{}
		for _, row := range rows {
			shown[row["_oid"].(string)] = row
		}
		for _, c := range asked[i] {
			row, sees := shown[c.slots[0].oid]
			switch {
			case sees != m.sees(c.slots[0].thing):
				w.note(c, "who sees it differs")
			case sees && row[c.tells()] != (c.want.how == done):
				w.note(c, c.tells()+" does not tell")
			}
		}
	}
}
