package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of the console.
const (
	maxConsoleRequest = 2 << 20 // bytes of a request
	maxLink           = 8 << 10 // bytes of a link that contains a request
	maxAddress        = 2 << 10 // bytes of a link in a response header; proxies accept about 4 KiB for all headers
)

// Paths to which the console sends requests.
const (
	commandPath = "api/asset"
	queryPath   = "query.v1"
)

// console is the data of the console page.
type console struct {
	Request  string
	Path     string
	Link     string // link that fills in the request; empty: the request is too long or may contain a password
	NoLink   string // why there is no link
	Examples []exampleGroup
	Ran      *ran // nil: no request was sent
}

// Commands reports whether the request is sent to the path of commands.
func (c console) Commands() bool { return c.Path == commandPath }

// Marks returns the byte offset of the first error in the request, or -1, for the script.
func (c console) Marks() int {
	if c.Ran == nil || len(c.Ran.places) == 0 {
		return -1
	}
	return c.Ran.places[0]
}

// showConsole serves GET ui/console: it fills the editor and runs nothing.
func showConsole(v *ui.Visit) error {
	path, err := consolePath(v.Param("path"))
	if err != nil {
		return err
	}
	return renderConsole(v, console{Request: lineFeeds(v.Request.URL.Query().Get("request")), Path: path})
}

// runConsole serves POST ui/console: it runs, previews or explains a request.
func runConsole(v *ui.Visit) error {
	path, err := consolePath(v.Field("path"))
	if err != nil {
		return err
	}
	c := console{Request: lineFeeds(v.Request.PostForm.Get("request")), Path: path}
	if len(c.Request) > maxConsoleRequest {
		return &ui.Error{Status: http.StatusRequestEntityTooLarge, Message: "The request is larger than the page sends: 2 MiB."}
	}
	c.Link, c.NoLink = carrying(v, c)
	act, known := consoleActions[v.Field("action")]
	switch {
	case !known:
		c.Ran = refusedRun("Say what to do with the request: run, preview or explain.")
	case strings.TrimSpace(c.Request) == "":
		c.Ran = refusedRun("The request is empty.")
	default:
		if c.Ran, err = act(v, c); err != nil {
			return err
		}
	}
	if c.Ran.Status >= http.StatusBadRequest && !v.IsPart() { // the script only shows answers with status 200
		v.Status = c.Ran.Status
	}
	v.Writer.Header().Set("HX-Replace-Url", address(v, c))
	return renderConsole(v, c)
}

// address returns the URL that the browser shows after a request. Going back and reloading
// then restore the request.
func address(v *ui.Visit, c console) string {
	if c.Link != "" && len(c.Link) <= maxAddress {
		return c.Link
	}
	return v.Link("/ui/console")
}

// consoleActions has the functions of the buttons. A form without a button value runs nothing.
var consoleActions = map[string]func(v *ui.Visit, c console) (*ran, error){
	"run": runRequest, "preview": previewRequest, "explain": explainRequest,
}

func renderConsole(v *ui.Visit, c console) error {
	if v.IsPart() {
		return v.RenderPart("console", "answer", c)
	}
	var err error
	if c.Examples, err = examplesFor(v); err != nil {
		return err
	}
	for _, path := range []string{commandPath, commandPath + "?previewOnly=true", queryPath} {
		v.Sends(path, "")
	}
	return v.Render("console", "Console", c)
}

// consolePath returns the path of the interface for a parameter. Errors: *ui.Error.
func consolePath(text string) (string, error) {
	switch text {
	case "", commandPath:
		return commandPath, nil
	case queryPath:
		return queryPath, nil
	}
	return "", &ui.Error{Status: http.StatusBadRequest, Message: "The console sends requests to api/asset and query.v1."}
}

// lineFeeds replaces all line ends by \n, as in the editor. Forms send CR LF, but positions
// refer to the text that is sent to the interface.
func lineFeeds(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// carrying returns a link that fills the editor with a request, or the reason why there is
// none.
func carrying(v *ui.Visit, c console) (to, why string) {
	if strings.Contains(strings.ToLower(c.Request), "password") {
		return "", "The request seems to contain a password, so there is no link to it."
	}
	params := []string{"request", c.Request}
	if c.Path != commandPath {
		params = append(params, "path", c.Path)
	}
	if to = v.Link("/ui/console", params...); len(to) > maxLink {
		return "", fmt.Sprintf("It is too long for a link: %d bytes, %d at most.", len(to), maxLink)
	}
	return to, ""
}
