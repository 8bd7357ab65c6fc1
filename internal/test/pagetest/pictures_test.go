package pagetest

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var docs = flag.String("pagetest.docs", "", "make the pictures of docs/ in this folder; a relative one lies below internal/test/pagetest")

// TestPicturesOfDocs checks that docs/pictures has pictures of the sample project, of the console and of a
// webhook. With -pagetest.docs ../../../docs/pictures it creates the pictures again.
func TestPicturesOfDocs(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite")
	b := newTab(t, s.origin)
	b.size(1280, 800)
	b.colorScheme(light)
	signIn(b, "admin", password)
	b.open("/alds/ui/welcome")
	b.submit("form[action$=welcome]")
	project := regexp.MustCompile(`/alds/ui/project/(Scope:\d+)`).FindString(b.html())
	b.follow("a[href*=receiver]")
	for _, change := range []object{{"Estimate": 3}, {"Status": "In Progress"}, {"Priority": "High"}} {
		s.send(object{"from": "Story", "where": object{"Name": "Gift wrap"}, "update": change})
	}
	b.waitFor("#deliveries article:nth-of-type(3)")

	b.open(project)
	b.picture("project", "Gift wrap")
	b.open("/alds/ui/console?request=" + url.QueryEscape(`{"from": "Story", "where": {"Scope": "`+strings.TrimPrefix(project, "/alds/ui/project/")+`"},
 "select": ["Number", "Name", "Status.Name", "Estimate"], "sort": ["-Estimate"]}`))
	b.click("button[value=run]")
	b.waitFor("#answer table")
	b.picture("console", "Recommend what others bought")
	b.open("/alds/ui/webhooks")
	b.follow("main td a, main th a")
	b.picture("webhook", "Healthy")
}

// picture checks that the page shows a text and that docs/pictures has a picture with this name. With
// -pagetest.docs it creates the picture.
func (b *tab) picture(name, shows string) {
	b.t.Helper()
	if text := b.text("main"); !strings.Contains(text, shows) {
		b.t.Errorf("the picture %s does not show %s:\n%s", name, shows, text)
	}
	kept, err := os.ReadFile(filepath.Join("../../../docs/pictures", name+".png"))
	if err != nil || len(kept) < 10<<10 {
		b.t.Errorf("docs/pictures has no %s: %v", name, err)
	}
	if *docs == "" {
		return
	}
	const png = 100 // quality in percent
	if err := os.WriteFile(filepath.Join(*docs, name+".png"), send(b, "take a picture", chromedp.FullScreenshot(png)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}
