package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	ofProgram = 20   // projects in a program
	ofProject = 1700 // items of a project: a tenth are defects, the others are stories with two tasks each on average
	atOnce    = 850  // stories in one request
	epics     = 25   // epics in a project
	members   = 200
	teams     = 40
	clients   = 2
)

// project has the data of a project that the measured requests need.
type project struct {
	token, program string
	stories        []string // Oids of some stories of the project
}

// world is an installation and its contents.
type world struct {
	*rig.Site

	db      *db.DB
	texts   []rig.Text
	members []string
	teams   []string
	token   string // access token of an administrator
	reader  string // access token of a member of thirty projects

	mu       sync.Mutex
	random   *rand.Rand
	programs []string
	projects []project
	assets   int
	middle   time.Time // time at which half of the assets of the first size existed
}

// begin creates the members and teams, which all projects share.
func (w *world) begin() (err error) {
	w.random = rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	if w.members, err = w.Many(members, func(i int) any {
		name := fmt.Sprintf("m%d", i)
		return map[string]any{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "Email": name + "@example.com", "DefaultRole": "Role:4"}
	}); err != nil {
		return err
	}
	w.teams, err = w.Many(teams, func(i int) any { return map[string]any{"AssetType": "Team", "Name": fmt.Sprintf("Team %d", i)} })
	return err
}

// fill adds projects until the installation has the given number of assets, and prints the rate.
func (w *world) fill(ctx context.Context, assets int, out io.Writer) error {
	began, had := time.Now(), w.assets
	said, before := began, had
	var group sync.WaitGroup
	errs := make([]error, clients)
	for k := range clients {
		group.Go(func() {
			for errs[k] == nil && ctx.Err() == nil {
				w.mu.Lock()
				full := w.assets >= assets
				if w.middle.IsZero() && w.assets >= assets/2 {
					w.middle = time.Now()
				}
				if since := time.Since(said); since > 5*time.Minute {
					fmt.Fprintf(out, "%d assets, the last %.0f a second\n", w.assets, float64(w.assets-before)/since.Seconds())
					said, before = time.Now(), w.assets
				}
				w.mu.Unlock()
				if full {
					return
				}
				errs[k] = w.project()
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	took := time.Since(began)
	fmt.Fprintf(out, "\n%d assets in %d projects: %d of them in %s, %.0f a second by %d clients; load %s\n",
		w.assets, len(w.projects), w.assets-had, took.Round(time.Second), float64(w.assets-had)/took.Seconds(), clients, rig.Load())
	return ctx.Err()
}

// project creates a project with its contents.
func (w *world) project() error {
	w.mu.Lock()
	r := rand.New(rand.NewPCG(w.random.Uint64(), w.random.Uint64())) //nolint:gosec // the same each time
	n := len(w.projects)
	w.projects = append(w.projects, project{})
	w.mu.Unlock()
	p, made, err := w.place(n)
	if err != nil {
		return err
	}
	epicsOf, err := w.Bulk(list(epics, func(i int) any {
		return map[string]any{"AssetType": "Epic", "Name": w.texts[r.IntN(len(w.texts))].Name, "Scope": p.token}
	}))
	if err != nil {
		return err
	}
	made += len(epicsOf)
	for done := 0; done < ofProject; done += atOnce {
		oids, err := w.Bulk(list(min(atOnce, ofProject-done), func(int) any { return w.item(r, p.token, epicsOf) }))
		if err != nil {
			return err
		}
		made += len(oids)
		p.keep(oids)
	}
	w.mu.Lock()
	w.projects[n] = p
	w.assets += made
	w.mu.Unlock()
	return nil
}

// place creates the project itself, and its program if it is the first project of the program.
func (w *world) place(n int) (p project, made int, err error) {
	scope := func(name, parent string) (string, error) {
		oids, err := w.Bulk([]any{map[string]any{"AssetType": "Scope", "Name": name, "Parent": parent, "BeginDate": "2026-01-01"}})
		if err != nil {
			return "", err
		}
		made++
		return oids[0], nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n/ofProgram >= len(w.programs) {
		program, err := scope(fmt.Sprintf("Program %d", n/ofProgram), "Scope:0")
		if err != nil {
			return p, 0, err
		}
		w.programs = append(w.programs, program)
	}
	p.program = w.programs[n/ofProgram]
	p.token, err = scope(fmt.Sprintf("Project %d", n), p.program)
	return p, made, err
}

// item returns a command that creates a story with its tasks, or a defect.
func (w *world) item(r *rand.Rand, scope string, epics []string) any {
	t := w.texts[r.IntN(len(w.texts))]
	c := map[string]any{
		"AssetType": "Story", "Name": t.Name, "Description": t.Description, "Scope": scope, "Estimate": r.IntN(13),
		"Team": w.teams[r.IntN(len(w.teams))], "Owners": []string{w.members[r.IntN(members)]},
		"Status": fmt.Sprintf("StoryStatus:%d", 133+r.IntN(3)),
	}
	if r.IntN(10) == 0 {
		c["AssetType"] = "Defect"
		return c
	}
	if r.IntN(3) == 0 {
		c["Super"] = epics[r.IntN(len(epics))]
	}
	c["Children"] = list(r.IntN(5), func(int) any {
		return map[string]any{"AssetType": "Task", "Name": w.texts[r.IntN(len(w.texts))].Name, "ToDo": r.IntN(16), "Owners": []string{w.members[r.IntN(members)]}}
	})
	return c
}

func list(n int, of func(i int) any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

// keep stores the Oids of some of the created stories.
func (p *project) keep(oids []string) {
	for i, o := range oids {
		typ, id, _ := strings.Cut(o, ":")
		id, _, _ = strings.Cut(id, ":") // drop the moment
		if typ == "Story" && len(p.stories) < 20 && i%40 < 5 {
			p.stories = append(p.stories, typ+":"+id)
		}
	}
}

// sizes prints the sizes of the tables.
func (w *world) sizes(ctx context.Context, out io.Writer) error {
	var text strings.Builder
	var all int64
	err := db.Each(ctx, w.db, `SELECT table_name, data_length + index_length FROM information_schema.tables
		WHERE table_schema = DATABASE() AND data_length + index_length > 1048576 ORDER BY data_length + index_length DESC`, nil, func(row db.Scanner) error {
		var name string
		var bytes int64
		err := row.Scan(&name, &bytes)
		all += bytes
		fmt.Fprintf(&text, ", %s %.2f", name, float64(bytes)/(1<<30))
		return err
	})
	fmt.Fprintf(out, "%.2f GiB%s\n", float64(all)/(1<<30), &text)
	return err
}

// settle waits until at most a tenth of the pages in the server's memory must still be written to
// disk. most limits the time of the wait.
func (w *world) settle(ctx context.Context, most time.Duration) error {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(time.Second) {
		pages := map[string]int64{}
		err := db.Each(ctx, w.db, `SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_%'`, nil, func(row db.Scanner) error {
			var name string
			var n int64
			err := row.Scan(&name, &n)
			pages[name] = n
			return err
		})
		if err != nil || pages["Innodb_buffer_pool_pages_dirty"] <= pages["Innodb_buffer_pool_pages_data"]/10 {
			return err
		}
	}
	return nil
}
