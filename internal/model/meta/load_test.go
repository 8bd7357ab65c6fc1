package meta

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// loadText reads a model without rights.
func loadText(text string) error {
	s, err := parse([]byte(text))
	if err != nil {
		return err
	}
	_, err = s.load(Custom{}, &loader{})
	return err
}

// Each case is a model with one defect, and the error that load returns for this model.
func TestLoadRefuses(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			err = loadText(string(archive.Files[0].Data))
			if err == nil {
				t.Fatal("loaded")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), err.Error()+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadRefusesWhatIsNoModel(t *testing.T) {
	for text, sentence := range map[string]string{
		"":            "nothing at all",
		"types: [1]":  "a list where a map belongs",
		"types: {a: ": "not YAML",
		"- types":     "a list as the whole",
	} {
		if err := loadText(text); err == nil {
			t.Errorf("%s: loaded", sentence)
		}
	}
}

// Every call returns a separate model, so callers cannot affect each other.
func TestDefaultIsFresh(t *testing.T) {
	if one, other := Default(), Default(); one == other {
		t.Error("shared")
	}
}
