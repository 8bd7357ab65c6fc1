package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// templates has the pages of a set by name, each within the layout.
type templates struct {
	byName  map[string]*template.Template
	notices map[string]string // key: value of the parameter done; value: text to show
}

// frame is the data of the layout.
type frame struct {
	Title  string
	Base   string
	Static string // base path of styles and scripts
	Here   string // first segment of the path below ui
	Member *Member
	Scope  string // Oid of the project that the page is about; empty: none
	CSRF   string
	Notice Notice // result of the form that redirected here
	Sent   []sentRequest
	Forms  []sentRequest
	Page   any
}

// Template files that are not pages.
const (
	layoutFile = "layout.html"
	partsFile  = "parts.html"
)

// parseShared parses the layout and the parts that all pages share.
func parseShared() *template.Template {
	return template.Must(template.New(layoutFile).Funcs(functions).ParseFS(templateFiles, "templates/"+layoutFile, "templates/"+partsFile))
}

// parse parses the templates of a set. It panics if one is wrong.
func (s *Site) parse(set Set) templates {
	t := templates{byName: map[string]*template.Template{}, notices: set.Notices}
	shared := template.Must(s.shared.Clone()).Funcs(set.Functions)
	names, err := fs.Glob(set.Templates, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		if path.Base(name) == partsFile {
			template.Must(shared.ParseFS(set.Templates, name))
		}
	}
	for _, name := range names {
		if base := path.Base(name); base != layoutFile && base != partsFile {
			one := template.Must(shared.Clone())
			t.byName[strings.TrimSuffix(base, ".html")] = template.Must(one.ParseFS(set.Templates, name))
		}
	}
	return t
}

// functions are available in all templates.
var functions = template.FuncMap{
	"instant":   Instant,
	"day":       func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"join":      strings.Join,
	"dict":      dict,
	"next":      func(n int) int { return n + 1 },
	"counted":   Counted,
	"thousands": Thousands,
	"initials":  Initials,
}

// Instant formats a time in UTC as HTML, or returns "never" for the zero time.
func Instant(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s UTC</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04")))
}

// dict makes a map from pairs of name and value, as the data of a nested template.
func dict(pairs ...any) map[string]any {
	d := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return d
}

// Render answers with a page: the template with this name, within the layout.
func (v *Visit) Render(name, title string, data any) error {
	return v.execute(name, "layout.html", title, data)
}

// RenderPart answers with one part of a page. The script inserts it into the page.
func (v *Visit) RenderPart(name, part string, data any) error { return v.execute(name, part, "", data) }

func (v *Visit) execute(name, part, title string, data any) error {
	f := frame{
		Title: title, Base: v.Site.Base, Static: v.Site.Base + "/ui/static/" + v.Site.statics.version, Here: v.Here(),
		Member: v.Member, Notice: v.noticed(), Sent: v.API.sent, Forms: v.forms, Page: data,
	}
	if oid := v.Request.PathValue("oid"); IsOid(oid, "Scope") {
		f.Scope = oid
	}
	if v.Member != nil {
		f.CSRF = FormToken(v.Session)
	}
	var b bytes.Buffer
	if err := v.templates.byName[name].ExecuteTemplate(&b, part, f); err != nil {
		return err
	}
	return v.Send("text/html; charset=utf-8", b.Bytes())
}

// Here returns the first segment of the path below ui. The layout marks this entry of the
// navigation as current.
func (v *Visit) Here() string {
	rest := strings.TrimPrefix(v.Request.URL.Path, v.Site.Base+"/")
	if below, ok := strings.CutPrefix(rest, "ui/"); ok {
		rest = below
	}
	first, _, _ := strings.Cut(rest, "/")
	switch first {
	case "meta.v1":
		return "model"
	case "project":
		return "projects"
	}
	return first
}

// notices has the texts that a page shows after a form succeeded, by the value of the
// parameter done.
var notices = map[string]string{
	"saved":     "Saved.",
	"made":      "Made.",
	"retired":   "Retired. It may be brought back.",
	"brought":   "It is back, with its values.",
	"purged":    "Deleted. Its data is removed in the background.",
	"moved":     "The item has its new status.",
	"items":     "%s changed.",
	"closed":    "%s closed.",
	"reopened":  "%s opened again.",
	"deleted":   "%s deleted.",
	"top":       "%s moved to the top.",
	"ranked":    "The item has its new place.",
	"revoked":   "The access token is revoked. It is refused within a second.",
	"removed":   "The sample is removed.",
	"changed":   "The password is changed. All other sessions have ended.",
	"done":      "Done.",
	"applied":   "Applied. It is in the history, and an undo takes it back.",
	"renewed":   "Tried again. This is what the proposal would change now.",
	"undone":    "Undone.",
	"same":      "Nothing was different.",
	"attached":  "The file is attached.",
	"commented": "Your comment is there.",
}

// notice returns the text for the parameter done, with the number of items in the parameter n.
func (v *Visit) notice() string {
	n, _ := strconv.Atoi(v.Param(paramCount))
	return v.noticeOf(v.Param(paramDone), n)
}

// noticeOf returns the text for a value of the parameter done. If the text has a %s, it gets a number
// of items.
func (v *Visit) noticeOf(done string, n int) string {
	text, own := v.templates.notices[done]
	if !own {
		text = notices[done]
	}
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, Counted(n, "item", "items"))
	}
	return text
}
