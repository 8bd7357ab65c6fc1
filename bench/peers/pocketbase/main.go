// Command pocketbase serves an empty backlog on PocketBase, with collections, relations and
// the indexes that the queries need. It is a separate Go module, so that alds does not get its
// dependencies. bench/peers builds and starts it.
//
//	pocketbase serve --dir DATA --http 127.0.0.1:8090
//	SYNCHRONOUS=FULL pocketbase serve ...    each commit waits for the disk
package main

import (
	"log"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

// Login of the superuser for bench/peers.
const (
	email    = "admin@example.com"
	password = "a password for benches"
)

func main() {
	// pocketbase.New, unlike NewWithConfig, would log all statements if the program is in a
	// temporary folder.
	var config pocketbase.Config
	if mode := os.Getenv("SYNCHRONOUS"); mode != "" {
		config.DBConnect = connect(mode)
	}
	app := pocketbase.NewWithConfig(config)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := prepare(e.App); err != nil {
			return err
		}
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// connect opens databases with the settings of PocketBase, except for synchronous.
func connect(synchronous string) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
			"&_pragma=synchronous("+synchronous+")&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
	}
}

// prepare creates everything, unless an earlier run has done so.
func prepare(app core.App) error {
	if _, err := app.FindCollectionByNameOrId("story"); err == nil {
		return nil
	}
	if err := set(app); err != nil {
		return err
	}
	if err := addSuperuser(app); err != nil {
		return err
	}
	named := map[string]string{} // ids of the collections, by name
	for _, name := range []string{"project", "status", "member"} {
		c := core.NewBaseCollection(name)
		c.Fields.Add(&core.TextField{Name: "name", Required: true})
		if err := app.Save(c); err != nil {
			return err
		}
		named[name] = c.Id
	}
	if err := addStories(app, named); err != nil {
		return err
	}
	return addSums(app)
}

// set enables batches and raises their limits. It also disables the log of requests, because
// alds does not log them either.
func set(app core.App) error {
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	settings.Batch.Enabled = true
	settings.Batch.MaxRequests = 20_000
	settings.Batch.Timeout = 300
	return app.Save(settings)
}

func addSuperuser(app core.App) error {
	superusers, err := app.FindCollectionByNameOrId(core.CollectionNameSuperusers)
	if err != nil {
		return err
	}
	record := core.NewRecord(superusers)
	record.SetEmail(email)
	record.SetPassword(password)
	return app.Save(record)
}

func addStories(app core.App, named map[string]string) error {
	c := core.NewBaseCollection("story")
	c.Fields.Add(
		&core.TextField{Name: "name", Required: true},
		&core.TextField{Name: "description"},
		&core.NumberField{Name: "estimate"},
		&core.NumberField{Name: "position", OnlyInt: true},
		&core.RelationField{Name: "project", CollectionId: named["project"], MaxSelect: 1, Required: true},
		&core.RelationField{Name: "status", CollectionId: named["status"], MaxSelect: 1},
		&core.RelationField{Name: "owners", CollectionId: named["member"], MaxSelect: 20},
	)
	c.AddIndex("story_status", false, "project, status, position", "")
	c.AddIndex("story_position", false, "project, position", "")
	return app.Save(c)
}

// addSums creates the view for sums, because a request cannot have an aggregate.
func addSums(app core.App) error {
	c := core.NewViewCollection("story_sum")
	c.ViewQuery = "SELECT (project || '-' || status) AS id, project, status, SUM(estimate) AS total FROM story GROUP BY project, status"
	return app.Save(c)
}
