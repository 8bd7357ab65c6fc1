package assets

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// undoLast serves POST ui/undo/last: it takes back what was just done and redirects to the page where
// it was done. If something has changed since, it redirects to the page of the undo, which lists it.
func undoLast(v *ui.Visit) error {
	c, err := readChoice(v.Field)
	if err != nil {
		return err
	}
	if c.Request == "" {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form names no write."}
	}
	err = v.API.Post("api/undo", c.body(), &struct{}{})
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil && refused.Status == http.StatusConflict:
		return v.Redirect(ui.Link("", "/ui/undo", "request", c.Request))
	case refused != nil:
		return &ui.Error{Status: refused.Status, Message: "Nothing was undone. " + v.Readable(refused.Message)}
	}
	return v.Redirect(undone(v))
}

// undone returns the path, below the base, of the page that sent the form.
func undone(v *ui.Visit) string {
	u, err := url.Parse(strings.TrimPrefix(v.Site.OwnPath(v.Field("back")), v.Site.Base))
	if err != nil {
		return "/ui/"
	}
	values := ui.WithoutResults(u.Query())
	values.Set("done", "undone")
	u.RawQuery = values.Encode()
	return u.String()
}
