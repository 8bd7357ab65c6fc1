// Command versions measures the size of a version of an asset on MariaDB or MySQL, and its
// cost in time. It can compare this source tree with another tree on the same server.
//
//	go run ./bench/versions                          only bytes
//	go run ./bench/versions -against ../alds-before  both trees, and ratios of their times
//	go run ./bench/versions -csv backlog.csv         names and descriptions from a file
//
// Stories are created and changed with bulk requests in a realistic order: most changes are of
// newer stories, and of one or two small attributes. Then the sides do each work in turn:
// pages as of an instant with and without descriptions, creates and changes. It makes a
// database for each side and drops it at the end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

type options struct {
	mysql, redis, against, csv, alter string
	stories, changes, goes            int
}

func main() { rig.Main("versions", run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("versions", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make the databases on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/13", "Redis database")
	f.StringVar(&o.against, "against", "", "folder of another tree of alds, to be measured too")
	f.StringVar(&o.csv, "csv", "", "file with columns title and description; without one, words of like lengths")
	f.StringVar(&o.alter, "alter", "", "statements, separated by semicolons, that change the tables of this tree before they are filled")
	f.IntVar(&o.stories, "stories", 30_000, "stories")
	f.IntVar(&o.changes, "changes", 10, "changes of a story, on average")
	f.IntVar(&o.goes, "goes", 300, "how often each work is done")
	return o, f.Parse(args)
}

// side is a source tree whose service is measured.
type side struct {
	*rig.Site

	name string
	db   *db.DB
	world
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	texts, err := rig.Texts(o.csv)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d processors, %s, load %s\n", runtime.NumCPU(), runtime.Version(), rig.Load())
	var sides []*side
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.db.Close(), s.Close())
		}
	}()
	for _, x := range []struct{ name, dir string }{{"now", ""}, {"before", o.against}} {
		if x.name == "before" && x.dir == "" {
			continue
		}
		s, err := newSide(ctx, o, x.name, x.dir)
		if err != nil {
			return err
		}
		sides = append(sides, s)
		for statement := range strings.SplitSeq(o.alter, ";") {
			if statement == "" || x.dir != "" {
				continue
			}
			if _, err := s.db.Exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := s.fill(o, texts); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := s.sizes(ctx, out); err != nil {
			return err
		}
	}
	return times(ctx, o, sides, texts, out)
}

func newSide(ctx context.Context, o options, name, dir string) (*side, error) {
	site, err := rig.NewSite(ctx, rig.SiteOptions{Name: "versions_" + name, MySQL: o.mysql, Redis: o.redis, Commands: []string{"api"}, Dir: dir})
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, site.URL, db.Options{MaxConns: 4})
	if err != nil {
		return nil, errors.Join(err, site.Close())
	}
	return &side{Site: site, name: name, db: d}, nil
}
