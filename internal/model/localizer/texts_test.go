package localizer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/model/meta"
)

var methodologies = []string{"Scrum", "XP", "AgileUP", "DSDM"}

// names returns the tags of all names in the model: types, their attributes and operations,
// and roles.
func names(m *meta.Model) []string {
	all := map[string]bool{}
	for _, t := range m.Types {
		all["AssetType'"+t.Name] = true
		for _, a := range t.Attrs {
			all["AttributeDefinition'"+a.Name] = true
		}
		for _, op := range t.Ops {
			all["Operation'"+op.Name] = true
		}
	}
	for _, i := range m.Instances {
		if i.Type.Name == "Role" {
			all[i.Attrs["Name"]] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// TestEveryNameIsTranslated checks that every name in the model has a text in every language
// except English, which uses the names themselves.
func TestEveryNameIsTranslated(t *testing.T) {
	m := meta.Default()
	all := names(m)
	for _, b := range books("Scrum")[1:] {
		for _, tag := range all {
			if b.texts[tag] == "" {
				t.Errorf("texts/%s.txt lacks %s", b.tag, tag)
			}
		}
	}
	for _, methodology := range methodologies {
		l := New(m, methodology)
		for _, lang := range l.Languages() {
			x := l.In(lang)
			for _, tag := range all {
				if got := x.Of(tag); got == "" || strings.ContainsAny(got, "{}'") {
					t.Errorf("%s, %s: %s is %q", methodology, lang, tag, got)
				}
			}
		}
	}
	if len(all) < 500 {
		t.Errorf("only %d names", len(all))
	}
}

// TestNothingElseIsTranslated checks that each line of the files is read, appears once, and
// is about something in the model. A text for a methodology must replace a general text, and
// references must refer to texts without references.
func TestNothingElseIsTranslated(t *testing.T) {
	m := meta.Default()
	named := names(m)
	reference := regexp.MustCompile(`\{([^}]*'[^}]*)\}`)
	for _, lang := range New(m, "Scrum").Languages() {
		file, err := files.ReadFile("texts/" + lang + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		for line := range strings.Lines(string(file)) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, text, ok := strings.Cut(line, " = ")
			tag, only, special := strings.Cut(key, "@")
			switch _, had := texts[key]; {
			case !ok || !IsText(text) || !IsTag(tag):
				t.Errorf("%s: %q", lang, line)
			case had:
				t.Errorf("%s has %s twice", lang, key)
			case special && (texts[tag] == "" || !slices.Contains(methodologies, only)):
				t.Errorf("%s: %s has no text without the methodology, or that is none", lang, key)
			case !isNamed(m, named, tag):
				t.Errorf("%s: %s names nothing", lang, tag)
			}
			texts[key] = text
		}
		for key, text := range texts {
			for _, found := range reference.FindAllStringSubmatch(text, -1) {
				if to := found[1]; reference.MatchString(texts[to]) || texts[to] == "" && !isNamed(m, named, to) {
					t.Errorf("%s: %s refers to %s", lang, key, to)
				}
			}
		}
	}
}

// later are tags that the files have for names that the model does not have yet.
var later = []string{"Operation'DeleteWithData", "AttributeDefinition'CheckDeleteWithData"}

// isNamed reports whether the tag belongs to the model or to a message.
func isNamed(m *meta.Model, named []string, tag string) bool {
	parts := strings.Split(tag, separator)
	switch {
	case slices.Contains(named, tag) || slices.Contains(later, tag):
		return true
	case len(parts) == 3 && isMember(parts[0]):
		typ, ok := m.Type(parts[2])
		if !ok {
			return false
		}
		_, isAttr := typ.Attr(parts[1])
		_, isOp := typ.Op(parts[1])
		return isAttr && parts[0] == kindAttribute || isOp && parts[0] == kindOperation
	case len(parts) == 2 && parts[0] == "Plural":
		_, ok := m.Type(parts[1])
		return ok
	}
	return slices.Contains([]string{"Violation", "Resolution", "Denied"}, parts[0])
}

// TestLanguages checks that the best available language is used, or English if none matches.
func TestLanguages(t *testing.T) {
	l := New(meta.Default(), "Scrum")
	for accept, want := range map[string]string{
		"": "en", "de": "de", "de-AT, en;q=0.5": "de", "en-GB,de": "en", "fr, de;q=0.8, en;q=0.5": "de", "fr": "en", "*": "en",
		"DE": "de", "de;q=0": "en", "de;q=0, en": "en", "nonsense;;": "en", "ru-RU": "en", "de," + strings.Repeat("x", maxAccept): "en", "\xff": "en",
	} {
		if got := l.In(accept).Language(); got != want {
			t.Errorf("%q gives %s, want %s", accept, got, want)
		}
	}
}

// TestGerman tests names by methodology, texts of the types above, texts that exist only in
// English, and overrides for one language.
func TestGerman(t *testing.T) {
	l := New(meta.Default(), "XP").With([]Override{
		{Tag: "AssetType'Epic", Language: "de", Text: "Großvorhaben"}, {Tag: "AssetType'Task", Text: "To-do"}, {Tag: "AssetType'Task", Language: "en", Text: "Job"},
	})
	for _, c := range []struct{ accept, tag, want string }{
		{"de", "AssetType'Story", "Story"},
		{"de", "AssetType'StoryStatus", "Story: Status"},
		{"de", "AttributeDefinition'Name'Defect", "Titel"},
		{"de", "AttributeDefinition'Timeboxes'Schedule", "Iterationen"},
		{"de", "AttributeDefinition'CheckQuickClose'Story", "Kann: Schnell schließen"},
		{"de", "Role.Name'Observer", "Beobachter"},
		{"de", "Violation'Required'Story.Name", "Titel ist erforderlich"},
		{"de", "Epic", "Großvorhaben"},
		{"en", "Epic", "Epic"},
		{"de", "Task", "To-do"},
		{"en", "Task", "Job"},
		{"de", "No'such thing", "such thing"},
	} {
		if got := l.In(c.accept).Of(c.tag); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.accept, c.tag, got, c.want)
		}
	}
}

// TestSettingNamesMethodologies checks that the setting accepts exactly the methodologies in
// the model, and that each has its own names.
func TestSettingNamesMethodologies(t *testing.T) {
	m := meta.Default()
	story, _ := m.Type("Story")
	for _, name := range methodologies {
		cfg, err := config.FromEnv(func(key string) string {
			return map[string]string{"ALDS_METHODOLOGY": name}[key]
		}, true)
		if err != nil || cfg.Methodology != name || story.DisplayNames[name] == "" {
			t.Errorf("%s: %q, %v", name, cfg.Methodology, err)
		}
	}
	if len(story.DisplayNames) != len(methodologies) {
		t.Errorf("the model has %v", story.DisplayNames)
	}
}

func BenchmarkTexts(b *testing.B) {
	m := meta.Default()
	x := New(m, "Scrum").In("de")
	var tags []string
	for _, t := range m.Types {
		for _, a := range t.Attrs {
			tags = append(tags, "AttributeDefinition'"+a.Name+"'"+t.Name)
		}
	}
	for i := 0; b.Loop(); i++ {
		if x.Of(tags[i%len(tags)]) == "" {
			b.Fatal("no text")
		}
	}
}
