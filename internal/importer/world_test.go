package importer_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// piece is an item as it is in the file, or as it should be in the service.
type piece struct {
	Key, Kind, Name, Text, Points, Project, State string
	Up                                            string // key of the epic, or of the parent of a task
	Tags, Owners, Needs                           []string
	Said                                          []saying
}

// saying is a comment. By is its author: one of members, or form.stranger.
type saying struct{ At, By, Text string }

// members are the members in the service of these tests, besides admin.
var members = []string{"ann", "bo", "cy"}

// content returns the comment as the service stores it.
func (s saying) content() string {
	if text := asHTML(s.Text); slices.Contains(members, s.By) {
		return text
	} else {
		return s.By + ": " + text
	}
}

// asHTML returns a plain text as the HTML that the importer sends.
func asHTML(text string) string { return strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") }

// world has the items of a file that changes, and the items that the service should have.
type world struct {
	*rand.Rand
	prefix string
	form   form
	order  []string          // all keys that have ever been in the file; an item comes after its epic or parent
	file   map[string]*piece // items in the file
	want   map[string]*piece // items that the service should have
}

func newWorld(r *rand.Rand, prefix string, f form) *world {
	w := &world{Rand: r, prefix: prefix, form: f, file: map[string]*piece{}, want: map[string]*piece{}}
	w.grow(8 + r.IntN(12))
	return w
}

func pick[T any](w *world, from ...T) T { return from[w.IntN(len(from))] }

// some returns a random number of the texts, at most the number most, in a random order and each at
// most once.
func some(w *world, most int, from ...string) []string {
	all := slices.Clone(from)
	w.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all[:w.IntN(min(most, len(all))+1)]
}

// grow adds items to the file.
func (w *world) grow(n int) {
	for range n {
		key := fmt.Sprintf("%s%d", w.prefix, len(w.order)+1)
		p := &piece{Key: key, Kind: pick(w, "Epic", "Story", "Story", "Defect", "Task")}
		if p.Kind == "Task" && w.earlier(key, "Story", "Defect") == "" {
			p.Kind = "Story"
		}
		w.order, w.file[key] = append(w.order, key), p
		for what := range aspects {
			w.alter(p, what)
		}
	}
}

// change changes, removes and adds items of the file.
func (w *world) change() {
	for _, key := range w.order {
		p := w.file[key]
		switch {
		case p == nil:
		case w.IntN(10) == 0:
			delete(w.file, key)
		default:
			for range w.IntN(4) {
				w.alter(p, w.IntN(aspects))
			}
			if w.IntN(2) == 0 {
				w.alter(p, comments)
			}
		}
	}
	w.grow(w.IntN(5))
}

// earlier returns the key of a random item that comes before the item with the key key and is of
// one of the kinds. It returns "" if there is no such item. Items that are only in the service
// count, too.
func (w *world) earlier(key string, kinds ...string) string {
	var all []string
	for _, k := range w.order {
		if k == key {
			break
		}
		p := w.file[k]
		if p == nil {
			p = w.want[k]
		}
		if p != nil && slices.Contains(kinds, p.Kind) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return pick(w, all...)
}

var (
	words  = []string{"pay", "by", "card", "“odd”", "a,b", "a;b", `"q"`, `back\slash`, "<b>", "&amp;", "ä€😀", "@r0", "Story:1001", "=1+1", "'", "null"}
	tagged = []string{"web", "Web", " wide ", "money", "two words", "semi;colon", "co,mma", `"quoted"`, "ümlaut", "<i>"}
)

// sentence returns a random text of one line, without spaces around it.
func (w *world) sentence() string {
	text := pick(w, words...)
	for range w.IntN(4) {
		text += " " + pick(w, words...)
	}
	return text
}

// aspects is the number of attributes that alter can change. comments is the last of them.
const (
	aspects  = 10
	comments = 9
)

// alter sets an attribute of an item to a random value.
func (w *world) alter(p *piece, what int) {
	planned := p.Kind == "Story" || p.Kind == "Defect"
	switch what {
	case 0:
		if p.Name = w.sentence(); w.IntN(12) == 0 {
			p.Name = "" // the service refuses an item without a name
		}
	case 1:
		if p.Text = ""; w.IntN(3) > 0 {
			p.Text = w.sentence() + strings.Repeat("\n", w.IntN(3)) + w.sentence()
		}
	case 2:
		if p.Points = ""; planned {
			p.Points = pick(w, "", "1", "3", "0.5", "13")
		}
	case 3:
		if p.Project = ""; p.Kind != "Task" {
			p.Project = pick(w, w.form.projects...)
		}
	case 4:
		if p.State = ""; planned {
			p.State = pick(w, "", "Future", "In Progress", "Done")
		}
	case 5:
		w.lift(p)
	case 6:
		p.Tags = some(w, 3, tagged...)
	case 7:
		p.Owners = some(w, w.form.owners, members...)
	case 8:
		w.need(p)
	case comments:
		if w.form.comments && (len(p.Said) == 0 || w.IntN(2) == 0) {
			at := fmt.Sprintf("2020-01-%02dT%02d:00:00", 1+len(p.Said), w.IntN(24))
			p.Said = append(p.Said, saying{at, pick(w, append(members, w.form.stranger)...), pick(w, "+1", w.sentence(), w.sentence()+"\nand so on")})
		}
	}
}

// lift sets the epic or parent of an item.
func (w *world) lift(p *piece) {
	if p.Kind == "Task" {
		p.Up = w.earlier(p.Key, "Story", "Defect")
		return
	}
	if p.Up = ""; w.IntN(2) == 0 {
		p.Up = w.earlier(p.Key, "Epic")
	}
}

// need sets the items that an item depends on. If links may form circles, these may also be later
// items, missing items, and items on which a dependency is not allowed.
func (w *world) need(p *piece) {
	if p.Needs = nil; p.Kind == "Task" {
		return
	}
	for range w.IntN(3) {
		key := w.earlier(p.Key, "Story", "Defect", "Epic")
		if w.form.circles {
			key = pick(w, key, pick(w, w.order...), w.prefix+"NONE")
		}
		if key != "" && key != p.Key && !slices.Contains(p.Needs, key) {
			p.Needs = append(p.Needs, key)
		}
	}
}

// apply updates w.want, so that it has the items that the service should have after an import of
// the file. It returns how many records the import should reject.
func (w *world) apply(update bool) (rejected int) {
	next := map[string]*piece{}
	there := func(key string) bool { return next[key] != nil || w.want[key] != nil }
	for _, key := range w.order {
		p := w.file[key]
		if p == nil || w.want[key] != nil && !update {
			continue
		}
		bad := p.Name == "" || p.Kind == "Task" && !there(p.Up)
		if w.form.strict {
			bad = bad || p.Up != "" && !there(p.Up) || slices.ContainsFunc(p.Needs, func(k string) bool { return !there(k) })
		}
		if bad {
			rejected++
			continue
		}
		next[key] = p
	}
	kind := func(key string) string {
		if !there(key) {
			return ""
		}
		if next[key] != nil {
			return next[key].Kind
		}
		return w.want[key].Kind
	}
	made := map[string]*piece{}
	for key, p := range next {
		of := *p
		if kind(of.Up) == "" {
			of.Up = ""
		}
		of.Needs = slices.DeleteFunc(slices.Clone(p.Needs), func(k string) bool { return kind(k) == "" || kind(k) == "Task" })
		if of.Said = slices.Clone(p.Said); w.want[key] != nil {
			of.Said = append(slices.DeleteFunc(slices.Clone(w.want[key].Said), func(s saying) bool { return slices.Contains(p.Said, s) }), p.Said...)
		}
		made[key] = &of
	}
	for key, p := range made {
		w.want[key] = p
	}
	return rejected
}

// line returns an item as text, to compare it with an item of the service.
func (p *piece) line(w *world) string {
	text := p.Text
	if w.form.plain {
		text = asHTML(text)
	}
	project := p.Project
	if p.Kind == "Task" {
		project = w.want[p.Up].Project
	}
	var said []string
	for _, s := range p.Said {
		said = append(said, s.content())
	}
	project = project[strings.LastIndex(project, "/")+1:]
	if project == "" {
		project = "System (All Projects)"
	}
	return lineOf(p.Key, p.Kind, p.Name, text, p.Points, project, p.State, p.Up, folded(p.Tags), p.Owners, p.Needs, said)
}

// folded returns tags in lower case, each once.
func folded(tags []string) (all []string) {
	for _, tag := range tags {
		if tag = strings.ToLower(tag); !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}

func lineOf(key, kind, name, text, points, project, state, up string, lists ...[]string) string {
	for i := range lists {
		lists[i] = slices.Sorted(slices.Values(lists[i]))
	}
	return fmt.Sprintf("%s %s %q %q %s %q %q %s %q", key, kind, name, text, points, project, state, up, lists)
}

// stored is an item in the service.
type stored struct {
	OID         string `json:"_oid"`
	Moment      string
	Reference   string
	AssetType   string
	Name        string
	Description string
	Points      json.Number `json:"PrimaryWorkitem.Estimate"`
	Project     string      `json:"Scope.Name"`
	State       string      `json:"PrimaryWorkitem.Status.Name"`
	Epic        string      `json:"Super.Reference"`
	Parent      string      `json:"Parent.Reference"`
	Tags        []string    `json:"TaggedWith"`
	Owners      []string    `json:"Owners.Username"`
	Needs       []string    `json:"Dependencies.Reference"`
	Said        []string    `json:"MentionedInExpressions.Content"`
}

func (s stored) line() string {
	if f, err := strconv.ParseFloat(string(s.Points), 64); err == nil {
		s.Points = json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return lineOf(s.Reference, s.AssetType, s.Name, s.Description, string(s.Points), s.Project, s.State, s.Epic+s.Parent, folded(s.Tags), s.Owners, s.Needs, s.Said)
}

// read reads the items of the file from the service. It returns them as sorted lines, and the
// Oid of each item with its last moment.
func (w *world) read(t *testing.T, base string) (lines, moments []string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"from": "Workitem", "find": w.prefix, "findin": []string{"Reference"}, "select": []string{
		"Moment", "Reference", "AssetType", "Name", "Description", "PrimaryWorkitem.Estimate", "Scope.Name", "PrimaryWorkitem.Status.Name",
		"Super.Reference", "Parent.Reference", "TaggedWith", "Owners.Username", "Dependencies.Reference", "MentionedInExpressions.Content",
	}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(base+"/query.v1", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var sets [][]stored
	if err := json.NewDecoder(res.Body).Decode(&sets); err != nil || len(sets) != 1 {
		t.Fatalf("status %d: %v", res.StatusCode, err)
	}
	for _, s := range sets[0] {
		lines, moments = append(lines, s.line()), append(moments, s.OID+" "+s.Moment)
	}
	slices.Sort(moments)
	slices.Sort(lines)
	return lines, moments
}

// lines returns the items that the service should have as sorted lines.
func (w *world) lines() (all []string) {
	for _, p := range w.want {
		all = append(all, p.line(w))
	}
	slices.Sort(all)
	return all
}
