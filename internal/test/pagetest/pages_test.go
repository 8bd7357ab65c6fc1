package pagetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// shown is a page that inspect checks.
type shown struct {
	name     string
	path     string // {Story} stands for the Oid of a story
	stranger bool   // true: the page needs no login
	alone    bool   // true: only standalone has the page
	bytes    int64  // most bytes that a first visit may transfer; 0: bytesAtMost
}

// pages are the pages that TestEveryPage inspects.
var pages = []shown{
	{name: "sign-in", path: "/alds/ui/sign-in", stranger: true},
	{name: "welcome", path: "/alds/ui/welcome", alone: true},
	{name: "profile", path: "/alds/ui/profile"},
	{name: "applications", path: "/alds/ui/applications"},
	{name: "console", path: "/alds/ui/console"},
	{name: "model", path: "/alds/ui/model"},
	{name: "model-search", path: "/alds/ui/model?q=estimate"},
	{name: "model-type", path: "/alds/ui/model/Story"},
	{name: "model-list", path: "/alds/ui/model/StoryStatus"},
	{name: "model-custom", path: "/alds/ui/model/custom"},
	{name: "asset", path: "/alds/assetdetail.v1?oid={Story}"},
	{name: "asset-history", path: "/alds/assetdetail.v1?oid={Story}&tab=history"},
	{name: "asset-activity", path: "/alds/assetdetail.v1?oid={Story}&tab=activity"},
	{name: "asset-edit", path: "/alds/assetdetail.v1?oid={Story}&tab=edit"},
	{name: "asset-scope", path: "/alds/assetdetail.v1?oid={Scope}"},
	{name: "system", path: "/alds/ui/system"},
	{name: "work", path: "/alds/ui/?"},
	{name: "search", path: "/alds/ui/search?q=a"},
	{name: "open-items", path: "/alds/ui/open"},
	{name: "changes", path: "/alds/ui/changes"},
	{name: "new", path: "/alds/ui/new/Story?scope={Scope}"},
	{name: "new-sprint", path: "/alds/ui/new/Timebox?scope={Scope}"},
	{name: "projects", path: "/alds/ui/projects"},
	{name: "backlog", path: "/alds/ui/project/{Scope}"},
	{name: "board", path: "/alds/ui/project/{Scope}/board"},
	{name: "sprints", path: "/alds/ui/project/{Scope}/sprints"},
	{name: "sprint", path: "/alds/ui/project/{Scope}/sprint/{Timebox}"},
	{name: "burndown", path: "/alds/ui/project/{Scope}/sprint/{Timebox}/burndown"},
	{name: "flow", path: "/alds/ui/project/{Scope}/flow"},
	{name: "proposals", path: "/alds/ui/project/{Scope}/proposals"},
}

// bytesAtMost is how many bytes a page may transfer with its styles and scripts.
const bytesAtMost = 200_000

// widths are screen widths in pixels: a phone, a tablet, a laptop.
var widths = []int64{390, 768, 1280}

// TestEveryPage inspects each page on every screen, in light and dark. The page must be accessible and send
// requests only to the service. On MariaDB or MySQL it uses only one width, which is enough to test the
// queries. With -short it inspects each page on one screen, and on MariaDB or MySQL only some pages.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for dialect, widths := range map[string][]int64{"sqlite": widths, "mysql": widths[2:]} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			browser(t)
			s := serve(t, dialect)
			oids := s.fill()
			r, member := seeded(t, dialect), newTab(t, s.origin)
			signIn(member, "admin", password)
			for _, p := range pages {
				if p.alone && dialect != "sqlite" || testing.Short() && dialect == "mysql" && r.IntN(4) > 0 {
					continue
				}
				for typ, oid := range oids {
					p.path = strings.ReplaceAll(p.path, "{"+typ+"}", oid)
				}
				t.Run(p.name, func(t *testing.T) {
					b := newTab(t, s.origin)
					if !p.stranger {
						signInAs(b, member)
					}
					inspect(b, p, widths)
				})
			}
		})
	}
}

// inspect opens a page on screens of these widths, in both color schemes. With -short it uses only one
// screen. It fails the test if it finds a problem.
func inspect(b *tab, p shown, widths []int64) {
	b.t.Helper()
	b.withoutCache()
	all := screens(b.t, p.name, widths)
	for _, on := range all {
		b.size(on.width, on.width*3/4)
		b.colorScheme(on.scheme)
		found := wrong(b, p)
		if on.scheme == light || len(all) == 1 { // once is enough: the focus has the same order in all colors
			found = append(found, unreached(b)...)
		}
		for _, what := range found {
			b.t.Errorf("%s, %d pixels, %s: %s", p.name, on.width, on.scheme, what)
		}
		b.screenshot(fmt.Sprintf("%s-%d-%s", p.name, on.width, on.scheme))
	}
}

// wrong opens a page and returns its problems on the current screen.
func wrong(b *tab, p shown) (all []string) {
	b.t.Helper()
	before := len(b.requests())
	if status := b.open(p.path); status != http.StatusOK {
		all = append(all, fmt.Sprintf("is answered with %d", status))
	}
	b.waitGone("[hx-trigger=load]") // waits for parts that the script loads after the page
	limit := p.bytes
	if limit == 0 {
		limit = bytesAtMost
	}
	if n := weight(b.requests()[before:]); n > limit {
		all = append(all, fmt.Sprintf("%d bytes were transferred, at most %d may be", n, limit))
	}
	if beyond := overflows(b); len(beyond) > 0 {
		all = append(all, strings.Join(beyond, "\n  "))
	}
	if strings.Contains(b.html(), "ZgotmplZ") {
		all = append(all, "has a link that the template refused")
	}
	for _, v := range violations(b) {
		all = append(all, v.String())
	}
	return all
}

// unreached returns the problems that a page has for people without a mouse.
func unreached(b *tab) (all []string) {
	b.t.Helper()
	stops, missed := keyboard(b)
	for _, s := range stops {
		if !s.Ring {
			all = append(all, "nothing shows that it has the focus: "+s.Element)
		}
	}
	for _, element := range missed {
		all = append(all, "the Tab key does not reach it: "+element)
	}
	return all
}
