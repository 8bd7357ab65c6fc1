package projects

import (
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// maxProposals limits the proposals on a page.
const maxProposals = 100

// proposals is the data of the page with the open proposals of a project.
type proposals struct {
	*project
	Proposals []proposal
	Bounded   bool
}

// proposal is a proposal that nobody has decided.
type proposal struct {
	Oid    string `json:"_oid"`
	Number string
	Name   string
	Who    string    `json:"ProposedBy.Name"`
	Made   time.Time `json:"CreateDateUTC"`
}

// showProposals serves GET ui/project/<oid>/proposals.
func showProposals(v *ui.Visit) error {
	p, err := readProject(v, "/proposals")
	if err != nil {
		return err
	}
	page := proposals{project: p}
	err = v.API.Find([]ui.Query{{
		"from": "Proposal", "select": []string{"Number", "Name", "ProposedBy.Name", "CreateDateUTC"}, "sort": []string{"-CreateDateUTC"},
		"page":   map[string]int{"size": maxProposals + 1, "start": 0},
		"filter": []string{within, "AssetState=$Open"}, "with": p.given("$Open", "Active"),
	}}, &page.Proposals)
	if err != nil {
		return missing(err)
	}
	if page.Bounded = len(page.Proposals) > maxProposals; page.Bounded {
		page.Proposals = page.Proposals[:maxProposals]
	}
	return v.Render("proposals", p.Name+" · Proposals", page)
}
