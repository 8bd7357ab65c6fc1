package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

// run runs a command of Directus and waits until it ends.
func (p *directus) run(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, p.program, p.args[0], command)
	cmd.Dir, cmd.Env = p.dir, append(cmd.Environ(), p.env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("directus %s: %w\n%.2000s", command, err, text)
	}
	return nil
}

// model creates the collections and relations through the interface of Directus.
func (p *directus) model() error {
	c, err := rig.Dial(p.process.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	field := func(name, kind string) object {
		return object{"field": name, "type": kind, "meta": object{}, "schema": object{}}
	}
	key := object{"field": "id", "type": "integer", "meta": object{}, "schema": object{"is_primary_key": true, "has_auto_increment": true}}
	title := object{"field": "name", "type": "string", "meta": object{}, "schema": object{"is_nullable": false}}
	owners := object{"field": "owners", "type": "alias", "meta": object{"special": []string{"m2m"}}, "schema": nil}
	collection := func(name string, fields ...object) object {
		return object{"collection": name, "meta": object{}, "schema": object{}, "fields": append([]object{key}, fields...)}
	}
	relation := func(collection, field, to, onDelete string, meta object) object {
		return object{"collection": collection, "field": field, "related_collection": to, "meta": meta, "schema": object{"on_delete": onDelete}}
	}
	for _, step := range []struct {
		path string
		body object
	}{
		{"/collections", collection("project", title)},
		{"/collections", collection("status", title)},
		{"/collections", collection("member", title)},
		{"/collections", collection("story", title, field("description", "text"), field("estimate", "float"), field("position", "integer"),
			field("project", "integer"), field("status", "integer"), owners)},
		{"/collections", collection("story_member", field("story_id", "integer"), field("member_id", "integer"))},
		{"/relations", relation("story", "project", "project", "NO ACTION", object{})},
		{"/relations", relation("story", "status", "status", "SET NULL", object{})},
		{"/relations", relation("story_member", "story_id", "story", "CASCADE", object{"one_field": "owners", "junction_field": "member_id"})},
		{"/relations", relation("story_member", "member_id", "member", "CASCADE", object{"junction_field": "story_id"})},
	} {
		if _, err := c.Ask(rig.Post(step.path, directusToken, encode(step.body))); err != nil {
			return fmt.Errorf("%s: %w", step.path, err)
		}
	}
	return nil
}

// load fills the tables and creates the indexes that the queries need, in addition to the
// indexes of relations. A load through the interface of Directus would take some minutes and leave
// the same rows.
func (p *directus) load(ctx context.Context) error {
	d, err := db.Open(ctx, p.url+"/"+p.database, db.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	return errors.Join(p.fill(ctx, d), d.Close())
}

func (p *directus) fill(ctx context.Context, d *db.DB) error {
	for _, index := range []string{
		"CREATE INDEX story_of_status ON story (project, status, `position`)",
		"CREATE INDEX story_by_position ON story (project, `position`)",
	} {
		if _, err := d.Exec(ctx, index); err != nil {
			return err
		}
	}
	for table, names := range map[string][]string{"project": p.data.projects, "status": statuses, "member": p.data.members} {
		err := rig.Insert(ctx, d, table, []string{"id", "name"}, len(names), func(i int) []any { return []any{1 + i, names[i]} })
		if err != nil {
			return err
		}
	}
	var owners [][]any
	for i, s := range p.data.stories {
		p.stories = append(p.stories, strconv.Itoa(1+i))
		for _, m := range s.owners {
			owners = append(owners, []any{1 + i, 1 + m})
		}
	}
	columns := []string{"id", "name", "description", "estimate", "position", "project", "status"}
	err := rig.Insert(ctx, d, "story", columns, len(p.data.stories), func(i int) []any {
		s := p.data.stories[i]
		var estimate any
		if s.estimate > 0 {
			estimate = s.estimate
		}
		return []any{1 + i, s.name, s.description, estimate, s.position, 1 + s.project, 1 + s.status}
	})
	if err != nil {
		return err
	}
	return rig.Insert(ctx, d, "story_member", []string{"story_id", "member_id"}, len(owners), func(i int) []any { return owners[i] })
}
