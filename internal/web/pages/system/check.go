package system

import (
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// check is the state of a check of the database. Spec: interface 4.16.1.
type check struct {
	State        string
	Began, Ended *time.Time
	By, Step     string
	Done, Of     int
	Findings     []struct {
		Check, Table, Text string
		ID                 int64
	}
	Error string
	Names ui.Names `json:"-"`
}

// readCheck reads the state of the check.
func readCheck(v *ui.Visit) (c check, err error) {
	if err := v.API.Get("api/system/check", &c); err != nil {
		return c, err
	}
	c.Names, err = v.NamesOf(c.By)
	return c, err
}

// Running reports whether the check is still running.
func (c check) Running() bool { return c.State == "running" }

// Took returns the duration of the check, or 0 if it has not ended.
func (c check) Took() time.Duration {
	if c.Began == nil || c.Ended == nil {
		return 0
	}
	return c.Ended.Sub(*c.Began)
}

// showCheck serves GET ui/system/check: the part of the page with the state of a check. The
// script requests it while a check runs. Without the script, it redirects to the page.
func showCheck(v *ui.Visit) error {
	if !v.IsPart() {
		return v.Redirect("/ui/system#check")
	}
	c, err := readCheck(v)
	if err != nil {
		return err
	}
	return v.RenderPart("system", "check", systemPage{Check: c})
}

// startCheck serves POST ui/system/check. If a check is already running, the page shows that
// check.
func startCheck(v *ui.Visit) error {
	err := v.API.Post("api/system/check", struct{}{}, nil)
	refused, err := ui.AsError(err)
	switch {
	case err != nil:
		return err
	case refused != nil && refused.Status != http.StatusConflict:
		return refused
	}
	return v.Redirect("/ui/system#check")
}
