package system

import (
	"net/http"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// check is how far a check of the database is. Spec: interface 4.16.1.
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

// readCheck reads how far the check is.
func readCheck(v *ui.Visit) (c check, err error) {
	if err := v.API.Get("api/system/check", &c); err != nil {
		return c, err
	}
	c.Names, err = v.NamesOf(c.By)
	return c, err
}

// Running reports whether it has not ended.
func (c check) Running() bool { return c.State == "running" }

// Took is how long it took.
func (c check) Took() time.Duration {
	if c.Began == nil || c.Ended == nil {
		return 0
	}
	return c.Ended.Sub(*c.Began)
}

// showCheck serves GET ui/system/check: the part that tells how far a check is, which
// the script asks for while one runs. Others are led back to the page, which they so
// load again.
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

// startCheck serves POST ui/system/check. Where a check runs already the page shows it.
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
