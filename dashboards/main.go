// Command dashboards writes the Grafana dashboards, as JSON, into the folder boards:
//
//	go run ./dashboards
//
// Each is described in its own file: rows of panels, each with a title, a description, a unit
// and queries. A test compares the JSON with the descriptions. In internal/test/watchtest a
// Prometheus evaluates each query while processes run.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// boards are all dashboards.
var boards = []board{overview, api, bulk, webhooks, queue}

func main() {
	for _, b := range boards {
		text, err := b.json()
		if err == nil {
			err = os.WriteFile(filepath.Join("dashboards", "boards", b.file+".json"), text, 0o644) //nolint:gosec // Grafana's user reads it
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// json returns a dashboard as Grafana reads it.
func (b board) json() ([]byte, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(b.dashboard())
	return []byte(text.String()), err
}
