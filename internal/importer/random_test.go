package importer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/importer"
	"github.com/alds-dev/alds/internal/test/testseed"
)

var worldsFlag = flag.Int("importer.worlds", 0, "how many random files to import on each database; 0: 30, and with -short one of each form")

// TestRandomFiles imports random files of each format. The files change between imports. Imports
// are interrupted at random writes, and run with and without --update. Afterwards the service has
// every item once, as the file describes it. An update without changes creates no version.
func TestRandomFiles(t *testing.T) {
	seed, worlds := testseed.New(t), *worldsFlag
	if worlds == 0 {
		if worlds = 30; testing.Short() {
			worlds = len(forms)
		}
	}
	inBoth(t, func(t *testing.T, base string) {
		for _, name := range members {
			write(t, base, fmt.Sprintf(`{"AssetType": "Member", "Name": %q, "Nickname": %q, "Username": %q, "DefaultRole": "Role:4"}`, name, name, name))
		}
		for n := range worlds {
			r := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // a test must be repeatable with its seed
			f := forms[n%len(forms)]
			if !t.Run(fmt.Sprintf("%d %s", n, f.name), func(t *testing.T) {
				testseed.Print(t, seed)
				l := &life{t: t, base: base, world: newWorld(r, fmt.Sprintf("W%d-", n), f), dir: t.TempDir()}
				l.live()
			}) {
				return
			}
		}
		if worlds > len(forms) { // not with -short, because a check takes seconds
			soundly(t, base)
		}
	})
}

// soundly starts a check of the database in the service, and expects no findings.
func soundly(t *testing.T, base string) {
	t.Helper()
	if res, err := http.Post(base+"/api/system/check", "application/json", nil); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusAccepted {
		t.Fatalf("the check does not start: %v", err)
	}
	var check struct {
		State    string
		Findings []struct{ Check, Text string }
	}
	for end := time.Now().Add(5 * time.Minute); check.State != "done"; <-time.After(100 * time.Millisecond) {
		res, err := http.Get(base + "/api/system/check")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(res.Body).Decode(&check)
		if _ = res.Body.Close(); err != nil || check.State == "failed" || time.Now().After(end) {
			t.Fatalf("the check does not end: %v, %+v", err, check)
		}
	}
	if len(check.Findings) > 0 {
		t.Errorf("the check has findings: %+v", check.Findings)
	}
}

// life is one random file with its imports.
type life struct {
	*world
	t         *testing.T
	base, dir string
	late      *gate // holds a write of an interrupted import; nil: there is none
}

// arrive releases the held write, and waits until the gate has sent or dropped it.
func (l *life) arrive() {
	if l.late != nil {
		close(l.late.released)
		<-l.late.done
		l.late = nil
	}
}

// live imports the file, changes it and updates the service from it, once or twice.
func (l *life) live() {
	for range 1 + l.IntN(2) {
		l.importFile(false)
		l.change()
		l.importFile(true)
		_, before := l.read(l.t, l.base)
		l.run(true, 0)
		if _, after := l.read(l.t, l.base); !slices.Equal(before, after) {
			l.t.Errorf("an update without changes has created versions:\n%s", cmp.Diff(before, after))
		}
		l.change()
	}
	l.importFile(false)
}

// importFile imports the file after up to three interrupted imports, and compares the service
// with the expected items.
func (l *life) importFile(update bool) {
	l.t.Helper()
	text := l.form.export(l.world)
	rejected := l.apply(update)
	put(l.t, l.dir+"/"+l.form.file, string(text))
	for range l.IntN(4) {
		l.run(update, 1+int32(l.IntN(4))) //nolint:gosec // the number is small
	}
	counts, said := l.run(update, 0)
	if counts.Rejected != rejected {
		l.t.Errorf("%d records were rejected, want %d, update %t\n%s", counts.Rejected, rejected, update, said)
	}
	got, _ := l.read(l.t, l.base)
	if diff := cmp.Diff(l.lines(), got); diff != "" {
		l.t.Fatalf("update %t, want, got:\n%s\n%s\n%.4000s", update, diff, said, text)
	}
	if again, said := l.run(false, 0); again.Created > 0 || again.Skipped < again.Records-len(l.file) {
		l.t.Errorf("again: %+v\n%s", again, said)
	}
}

// run imports the file, and interrupts the import at the write with the number write; 0: never. The
// interrupted write reaches the service, or is dropped, before a random write of the next run.
func (l *life) run(update bool, write int32) (importer.Counts, string) {
	l.t.Helper()
	m, err := importer.DefaultMapping(l.form.format)
	if l.form.mapping != "" {
		m, err = importer.ReadMapping(strings.NewReader(l.form.mapping))
	}
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	var said bytes.Buffer
	o := importer.Options{
		URL: l.base, Format: l.form.format, File: l.dir + "/" + l.form.file, Project: "Scope:0", Update: update, Batch: 1 + l.IntN(9), Patience: time.Minute, Out: &said, Log: &said,
	}
	arrives, writes, at := sync.OnceFunc(l.arrive), atomic.Int32{}, 1+int32(l.IntN(6)) //nolint:gosec // the number is small
	g := newGate(l.t, l.base, write, l.IntN(3) > 0, func() {
		if writes.Add(1) == at {
			arrives()
		}
	})
	o.URL = g.url
	l.t.Cleanup(l.arrive)
	go func() {
		select {
		case <-g.held:
			cancel()
		case <-ctx.Done():
		}
	}()
	counts, err := importer.Run(ctx, o, m)
	arrives()
	select {
	case <-g.held:
		l.late = g
	default:
	}
	if err != nil && ctx.Err() == nil && counts.Rejected == 0 {
		l.t.Fatalf("%v\n%s", err, &said)
	}
	if rest, _ := os.ReadDir(l.dir); write == 0 && slices.ContainsFunc(rest, func(e os.DirEntry) bool { return strings.Contains(e.Name(), ".pending") }) {
		l.t.Errorf("the file of the pending request remains after the import")
	}
	return counts, said.String()
}
