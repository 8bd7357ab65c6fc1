package account

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// application is the data of the page of one access token.
type application struct {
	ui.Token
	Limits []string
	Wrote  []period
}

// period is a link to what the token has written since a time.
type period struct{ Name, Link string }

// showApplication serves GET ui/applications/<id>.
func showApplication(v *ui.Visit) error {
	id, err := v.UUID("id")
	if err != nil {
		return err
	}
	tokens, err := tokensOf(v)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.ID != id {
			continue
		}
		page := application{Token: t}
		if page.Limits, err = limits(v, t.Bounds); err != nil {
			return err
		}
		now := time.Now().UTC()
		for _, p := range []struct {
			name  string
			since time.Duration
		}{{"the last hour", time.Hour}, {"the last day", 24 * time.Hour}, {"the last week", 7 * 24 * time.Hour}} {
			since := now.Add(-p.since).Format(time.RFC3339)
			page.Wrote = append(page.Wrote, period{p.name, v.Link("/ui/undo", "by", id, "since", since)})
		}
		return v.Render("application", t.Name, page)
	}
	return &ui.Error{Status: http.StatusNotFound, Message: "There is no such token, or it has ended."}
}

// tokensOf returns the tokens and sessions of the reader.
func tokensOf(v *ui.Visit) ([]ui.Token, error) {
	var list struct{ Tokens []ui.Token }
	err := v.API.Get("api/tokens", &list)
	return list.Tokens, err
}

// limits returns what a token may not do, one sentence for each limit.
func limits(v *ui.Visit, b *ui.Bounds) (all []string, err error) {
	if b == nil {
		return []string{"It may do all that you may do."}, nil
	}
	switch b.Writes {
	case "none":
		all = append(all, "It only reads.")
	case "proposals":
		all = append(all, "It only proposes changes, which others apply.")
	case "plans":
		all = append(all, "It writes only by plans.")
	}
	if !b.Deletes && b.Writes != "none" {
		all = append(all, "It deletes nothing.")
	}
	if b.Projects != nil {
		names, err := v.NamesOf(b.Projects...)
		if err != nil {
			return nil, err
		}
		named := make([]string, len(b.Projects))
		for i, oid := range b.Projects {
			named[i] = names.Of(oid)
		}
		all = append(all, "Projects: "+strings.Join(named, ", ")+", and the projects below.")
	}
	if b.Types != nil {
		all = append(all, "Types: "+strings.Join(b.Types, ", ")+".")
	}
	if b.Addresses != nil {
		all = append(all, "Addresses: "+strings.Join(b.Addresses, ", ")+".")
	}
	if b.Changes > 0 {
		all = append(all, fmt.Sprintf("At most %d changes with one request.", b.Changes))
	}
	if b.Hourly > 0 {
		all = append(all, fmt.Sprintf("At most %d changes in an hour.", b.Hourly))
	}
	if b.Writes != "none" {
		all = append(all, "It changes no members, roles, lists, tokens, webhooks or settings.")
	}
	return all, nil
}
