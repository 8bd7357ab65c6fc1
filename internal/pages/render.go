package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// templates are the pages by name, each with the layout around it.
type templates struct{ byName map[string]*template.Template }

// frame is what the layout shows around a page.
type frame struct {
	Title  string
	Base   string
	Static string // path of styles and scripts
	Here   string // first segment of the page below ui
	Member *member
	CSRF   string
	Notice string // what has been done, after a form
	Sent   []sentRequest
	Forms  []sentRequest
	Page   any
}

// parseTemplates reads the embedded templates; a wrong one ends the program at its
// start.
func parseTemplates() *templates {
	t := &templates{byName: map[string]*template.Template{}}
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		if name = path.Base(name); name != "layout.html" && name != "parts.html" {
			one := template.Must(shared.Clone())
			t.byName[strings.TrimSuffix(name, ".html")] = template.Must(one.ParseFS(templateFiles, "templates/"+name))
		}
	}
	return t
}

// functions are what templates call.
var functions = template.FuncMap{
	"instant":   instant,
	"day":       func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"json":      indented,
	"join":      strings.Join,
	"dict":      dict,
	"called":    called,
	"whyNot":    func(why string) string { return whyNot[why] },
	"path":      func(text string) string { return strings.ReplaceAll(text, ":", "/") },
	"sanitized": sanitized,
	"dated":     dateOf,
	"counted":   counted, "thousands": thousands, "span": span, "milliseconds": milliseconds,
	"next": func(n int) int { return n + 1 },
}

// instant writes an instant as people read it, in UTC; nothing for the zero one.
func instant(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s UTC</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04")))
}

// indented writes a value as JSON over several lines.
func indented(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}

// dict makes the values of a part of a template from pairs of name and value.
func dict(pairs ...any) map[string]any {
	d := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return d
}

// render answers with a page: the template of that name within the layout.
func (v *visit) render(name, title string, data any) error {
	return v.execute(name, "layout.html", title, data)
}

// renderPart answers with a part of a page, which the script puts in its place.
func (v *visit) renderPart(name, part string, data any) error { return v.execute(name, part, "", data) }

func (v *visit) execute(name, part, title string, data any) error {
	f := frame{
		Title: title, Base: v.p.base, Static: v.p.base + "/ui/static/" + v.p.statics.version, Here: v.here(),
		Member: v.member, Notice: v.notice(), Sent: v.api.sent, Forms: v.forms, Page: data,
	}
	if v.member != nil {
		f.CSRF = v.formToken()
	}
	var b bytes.Buffer
	if err := v.p.templates.byName[name].ExecuteTemplate(&b, part, f); err != nil {
		return err
	}
	v.protect()
	return v.send("text/html; charset=utf-8", b.Bytes())
}

// here is the first segment of the page below ui, by which the layout marks where the
// reader is.
func (v *visit) here() string {
	rest := strings.TrimPrefix(v.r.URL.Path, v.p.base+"/")
	if below, ok := strings.CutPrefix(rest, "ui/"); ok {
		rest = below
	}
	first, _, _ := strings.Cut(rest, "/")
	switch first {
	case "meta.v1":
		return "model"
	case "", "project":
		return "projects"
	}
	return first
}

// notices are what a page says after a form has done its work.
var notices = map[string]string{
	"saved":   "Saved.",
	"made":    "Made.",
	"retired": "Retired. It may be brought back.",
	"brought": "It is back, with its values.",
	"purged":  "Deleted. Its data is removed in the background.",
	"moved":   "The item has its new status.",
	"ranked":  "The item has its new place.",
	"revoked": "The access token is revoked. It is refused within a second.",
	"removed": "The sample is removed.",
	"changed": "The password is changed. All other sessions have ended.",

	"webhook-test":      "A test event waits to be sent. Load the page again to see its receipt.",
	"webhook-pause":     "The webhook is paused: its events wait.",
	"webhook-resume":    "The webhook goes on, with the events that have waited.",
	"webhook-enable":    "The webhook is enabled. Changes made from now on make events.",
	"webhook-disable":   "The webhook is disabled. What waited is dropped.",
	"webhook-delete":    "The webhook is deleted.",
	"webhook-redeliver": "What was asked for waits to be sent again.",
	"webhook-none":      "There was nothing to send again in that time.",
	"done":              "Done.",
	"same":              "Nothing was different.",
	"attached":          "The file is attached.",
}

func (v *visit) notice() string { return notices[v.param("done")] }
