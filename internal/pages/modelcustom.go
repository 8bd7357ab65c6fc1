package pages

import (
	"net/http"
	"strings"
)

// valueNames are the names that a form gives, one a line.
func valueNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// creates are the commands that make values of a list.
func creates(list string, names []string) []any {
	commands := make([]any, len(names))
	for i, name := range names {
		commands[i] = map[string]string{"AssetType": list, "Name": name}
	}
	return commands
}

// addValues serves POST ui/model/<list>: it adds values, all or none.
func addValues(v *visit) error {
	list := v.r.PathValue("type")
	text := v.r.PostForm.Get("values")
	err := v.writeValues(list, valueNames(text))
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.typePage(typePage{Message: readable(refused.Message), Value: text})
	}
	return v.to("/ui/model/" + list + "?done=saved#values")
}

// maxNewValues is how many values a form makes.
const maxNewValues = 500

// writeValues adds values to a list, all or none. Errors: *failure.
func (v *visit) writeValues(list string, names []string) error {
	if len(names) == 0 || len(names) > maxNewValues {
		return &failure{Status: http.StatusBadRequest, Message: "Write 1 to 500 values, one a line."}
	}
	_, err := v.api.write(creates(list, names)...)
	return err
}
