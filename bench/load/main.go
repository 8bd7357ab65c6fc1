// Command load loads a backlog into alds with bulk requests and reads it back.
//
// The backlog is a gzipped CSV file with the columns project, key, title, description and
// points. Each project becomes a Scope. Each row becomes a Story with the title as Name, the
// key as Reference and the points as Estimate. A POST to api/asset has 1,000 stories. With
// -verify, all stories are read back through query.v1 and compared byte for byte.
//
//	go run ./bench/load -file backlog.csv.gz -verify
//
// The result of each request is recorded in a journal. The load continues after a request
// without status 200: it reports the request and waits until the service answers again.
// Verification then reports for each request whether all or none of its stories exist. With
// -resume, the load sends the requests that the journal does not record as done. For a request
// without an answer, it first checks whether the request was executed.
//
// With -commands instead of a backlog, it sends one request with that many creates and one
// with that many updates. With -memory, the process id of an api on this machine, it also
// prints the peak memory of the api:
//
//	go run ./bench/load -commands 50000 -memory $(pidof api)
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// options are the values of the flags.
type options struct {
	file, url, user, password, token, parent, journal string

	perRequest, maxBytes int
	commands, memory     int
	wait                 time.Duration
	load, verify, resume bool
}

func main() { rig.Main("load", run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	if o.commands > 0 {
		return large{client: newClient(o), commands: o.commands, pid: o.memory, out: out}.run(ctx, o.parent)
	}
	stories, err := readBacklog(o.file)
	if err != nil {
		return err
	}
	batches := split(stories, o.perRequest, o.maxBytes)
	j, err := openJournal(o.journal, o.load && !o.resume)
	if err != nil {
		return err
	}
	defer j.close()
	c := newClient(o)
	if o.load {
		l := loader{client: c, journal: j, options: o, out: out}
		if err := l.run(ctx, batches); err != nil {
			return err
		}
		report(out, batches, j)
	}
	if o.verify {
		return verify(ctx, c, j, batches, out)
	}
	return nil
}

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.StringVar(&o.file, "file", "", "gzipped CSV: project,key,title,description,points")
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080/alds", "base URL of the service")
	f.StringVar(&o.user, "user", "admin", "user name")
	f.StringVar(&o.password, "password", "admin", "password")
	f.StringVar(&o.token, "token", "", "access token, in place of user and password")
	f.StringVar(&o.parent, "parent", "Scope:0", "project below which the new projects are created")
	f.StringVar(&o.journal, "journal", filepath.Join(os.TempDir(), "alds-load.jsonl"), "file that records the result of each request")
	f.IntVar(&o.perRequest, "per-request", 1000, "stories per request at most")
	f.IntVar(&o.maxBytes, "max-bytes", 16<<20, "bytes per request at most")
	f.IntVar(&o.commands, "commands", 0, "instead of a backlog: number of commands in each request")
	f.IntVar(&o.memory, "memory", 0, "with -commands: process id of the api, whose peak memory is printed")
	f.DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait for the service after a failed request")
	f.BoolVar(&o.load, "load", true, "send the backlog")
	f.BoolVar(&o.verify, "verify", false, "read everything back and compare")
	f.BoolVar(&o.resume, "resume", false, "continue the load that the journal records")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.file == "" && o.commands < 1 {
		return o, fmt.Errorf("-file names the backlog, or -commands says how many commands")
	}
	if o.perRequest < 1 || o.maxBytes < 1 {
		return o, fmt.Errorf("-per-request and -max-bytes are at least 1")
	}
	return o, nil
}
