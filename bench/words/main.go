// Command words measures how much an index for find would cost writes, and how fast it would
// answer.
//
//	go run ./bench/words
//	go run ./bench/words -stories 1000000 -engine sqlite
//
// The service creates stories, a thousand per request. Then each index is filled with their
// names and Numbers, a thousand per transaction, as the service would have to do in each write.
// The cost of an index is this time, divided by the time that the service needs for the same
// stories. Find searches for a text anywhere in an attribute, so only an index of all
// sequences of three characters can answer it. Indexes of whole words are measured for
// comparison.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

type options struct {
	mysql, redis, engine string
	stories              int
}

func main() { rig.Main("words", run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("words", flag.ContinueOnError)
	f.StringVar(&o.mysql, "mysql", "mysql://root@127.0.0.1:3306", "server to make a database on")
	f.StringVar(&o.redis, "redis", "redis://127.0.0.1:6379/0", "queue of the service")
	f.StringVar(&o.engine, "engine", "", "measure only sqlite or mysql")
	f.IntVar(&o.stories, "stories", 100_000, "stories to create, a multiple of a thousand")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d stories, load %s\n\n", o.stories, rig.Load())
	fmt.Fprintln(out, "| Engine | Index | µs for each story | of the service's time | size, MiB | rare word ms | common word ms |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, engine := range []string{"sqlite", "mysql"} {
		if o.engine != "" && o.engine != engine {
			continue
		}
		if err := measure(ctx, o, engine, out); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	return nil
}

// open creates an empty database of an engine.
func open(ctx context.Context, o options, engine string) (d *rig.Database, drop func(), err error) {
	if engine == "mysql" {
		d, err = rig.Open(ctx, o.mysql, o.redis, fmt.Sprintf("alds_bench_words_%d", os.Getpid()), false)
		return d, func() { _ = d.Close() }, err
	}
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		return nil, nil, err
	}
	d, err = rig.OpenFile(ctx, filepath.Join(dir, "words.db"), o.redis)
	return d, func() { _ = d.Close(); _ = os.RemoveAll(dir) }, err
}

// batch is the number of stories in a request, and in a transaction of an index.
const batch = 1000

// measure measures one engine and prints its rows of the table.
func measure(ctx context.Context, o options, engine string, out io.Writer) error {
	d, drop, err := open(ctx, o, engine)
	if err != nil {
		return err
	}
	defer drop()
	s, err := rig.Serve(ctx, d)
	if err != nil {
		return err
	}
	defer s.Stop()
	token, err := rig.Token(ctx, d.DB, "admin")
	if err != nil {
		return err
	}
	c, err := rig.Dial(s.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	names := namesOf(o.stories)
	service, err := create(c, token, names)
	if err != nil {
		return err
	}
	rare, common := rareWord, wordOf(3)
	find := func(word string) (time.Duration, error) {
		return fastest(func() error { return ask(c, token, word) })
	}
	a, err := find(rare)
	b, err2 := find(common)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	printRow(out, engine, "none: find reads every name", service, service, 0, a, b)
	for _, x := range indexes {
		if x.engine != engine {
			continue
		}
		if err := x.measure(ctx, d.DB, names, service, rare, common, out); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

func printRow(out io.Writer, engine, name string, took, service time.Duration, size float64, rare, common time.Duration) {
	of := ""
	if took != service {
		of = fmt.Sprintf("%.0f %%", 100*took.Seconds()/service.Seconds())
	}
	fmt.Fprintf(out, "| %s | %s | %.1f | %s | %.0f | %.2f | %.2f |\n", engine, name, float64(took.Nanoseconds())/1000, of, size, ms(rare), ms(common))
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// create creates the stories and returns the median time per story.
func create(c *rig.Conn, token string, names []string) (time.Duration, error) {
	var times []time.Duration
	for some := range slices.Chunk(names, batch) {
		var body strings.Builder
		for i, name := range some {
			body.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
			fmt.Fprintf(&body, `{"AssetType": "Story", "Name": %q, "Scope": "Scope:0"}`, name)
		}
		body.WriteString("]")
		request := rig.Post("/alds/api/asset", token, body.String())
		began := time.Now()
		raw, err := c.Ask(request)
		if err != nil {
			return 0, err
		}
		if times = append(times, time.Since(began)); !strings.Contains(string(raw), fmt.Sprintf(`"count":%d`, len(some))) {
			return 0, fmt.Errorf("not all were created: %.200s", raw)
		}
	}
	return rig.Median(times) / batch, nil
}

// goes is the number of searches for a word.
const goes = 7

func fastest(do func() error) (time.Duration, error) {
	var best time.Duration
	for range goes {
		began := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		if took := time.Since(began); best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// ask finds the first 50 stories with a word. It returns an error if no story has the word.
func ask(c *rig.Conn, token, word string) error {
	raw, err := c.Ask(rig.Post("/alds/query.v1", token, `{"from": "Story", "select": ["Name"], "find": "`+word+`", "findin": ["Name", "Number"], "page": {"start": 0, "size": 50}}`))
	if err == nil && !strings.Contains(string(raw), word) {
		err = fmt.Errorf("nothing found: %.200s", raw)
	}
	return err
}

// rareWord occurs in only one name.
const rareWord = "quixotic"

// wordOf returns the nth most frequent word.
func wordOf(n int) string {
	const consonants, vowels = "bcdfghklmnprstvwz", "aeiou"
	var w strings.Builder
	for n += len(consonants) * len(vowels); n > 0; n /= len(consonants) * len(vowels) {
		w.WriteByte(consonants[n%len(consonants)])
		w.WriteByte(vowels[n/len(consonants)%len(vowels)])
	}
	return w.String() + "n"
}

// namesOf returns names of five to nine words. There are 20,000 words. Words with a higher
// number are less frequent.
func namesOf(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 20, 20_000)
	names := make([]string, n)
	for i := range names {
		words := make([]string, 5+random.IntN(5))
		for j := range words {
			words[j] = wordOf(int(zipf.Uint64()))
		}
		names[i] = strings.Join(words, " ")
	}
	names[n/2] += " " + rareWord
	return names
}

// index is one way to find words.
type index struct {
	engine, name string
	create       []string
	rows         func(id int, text string) [][]any // returns the rows of one story
	table        string
	columns      []string
	find         string // SQL that selects the ids of the stories with a word
	word         func(string) []any
	size         string
}

func text(id int, text string) [][]any { return [][]any{{id, text}} }

func quoted(word string) []any { return []any{`"` + word + `"`} }

// grams returns a row for each distinct sequence of three characters.
func grams(id int, text string) [][]any {
	seen := map[string]bool{}
	var rows [][]any
	for i := 0; i+3 <= len(text); i++ {
		if g := text[i : i+3]; !seen[g] {
			seen[g] = true
			rows = append(rows, []any{g, id})
		}
	}
	return rows
}

const sqliteSize = `SELECT (SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'found%') / 1048576.0 WHERE ? = ''`

const mysqlSize = `SELECT SUM(data_length + index_length) / 1048576 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'found' AND ? = ''`

var indexes = []index{
	{
		engine: "sqlite", name: "FTS5, trigrams", table: "found", columns: []string{"rowid", "text"}, rows: text,
		create: []string{`CREATE VIRTUAL TABLE found USING fts5(text, content='', tokenize='trigram')`},
		find:   `SELECT rowid FROM found WHERE found MATCH ? LIMIT 50`, word: quoted, size: sqliteSize,
	},
	{
		engine: "sqlite", name: "FTS5, whole words", table: "found", columns: []string{"rowid", "text"}, rows: text,
		create: []string{`CREATE VIRTUAL TABLE found USING fts5(text, content='', detail='none')`},
		find:   `SELECT rowid FROM found WHERE found MATCH ? LIMIT 50`, word: quoted, size: sqliteSize,
	},
	{
		engine: "mysql", name: "a row for each trigram", table: "found", columns: []string{"gram", "id"}, rows: grams,
		create: []string{`CREATE TABLE found (gram VARBINARY(3), id BIGINT, PRIMARY KEY (gram, id))`},
		find:   `SELECT a.id FROM found a JOIN found b ON b.id = a.id AND b.gram = ? JOIN found c ON c.id = a.id AND c.gram = ? WHERE a.gram = ? LIMIT 50`,
		word:   func(w string) []any { return []any{w[1:4], w[2:5], w[:3]} }, size: mysqlSize,
	},
	{
		engine: "mysql", name: "FULLTEXT, whole words", table: "found", columns: []string{"id", "text"}, rows: text,
		create: []string{`CREATE TABLE found (id BIGINT PRIMARY KEY, text VARCHAR(4000), FULLTEXT (text))`},
		find:   `SELECT id FROM found WHERE MATCH (text) AGAINST (? IN BOOLEAN MODE) LIMIT 50`, word: func(w string) []any { return []any{"+" + w} }, size: mysqlSize,
	},
}

// measure fills an index, searches it and drops it.
func (x *index) measure(ctx context.Context, d *db.DB, names []string, service time.Duration, rare, common string, out io.Writer) (err error) {
	for _, statement := range x.create {
		if _, err := d.Exec(ctx, statement); err != nil {
			return err
		}
	}
	defer func() {
		_, failed := d.Exec(ctx, `DROP TABLE found`)
		err = errors.Join(err, failed)
	}()
	var times []time.Duration
	id := 0
	for some := range slices.Chunk(names, batch) {
		var rows [][]any
		for _, name := range some {
			id++
			rows = append(rows, x.rows(id, fmt.Sprintf("%s S-%05d", name, 1000+id))...)
		}
		began := time.Now()
		err := d.Write(ctx, func(tx *db.Tx) error { return db.Insert(ctx, tx, x.table, x.columns, rows) })
		if err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	found := func(word string) time.Duration {
		took, failed := fastest(func() error {
			ids, err := db.Column[int64](ctx, d, x.find, x.word(word)...)
			if err == nil && len(ids) == 0 {
				err = fmt.Errorf("%s is not found", word)
			}
			return err
		})
		err = errors.Join(err, failed)
		return took
	}
	a, b := found(rare), found(common)
	var size float64
	if err := errors.Join(err, d.QueryRow(ctx, x.size, "").Scan(&size)); err != nil {
		return err
	}
	printRow(out, x.engine, x.name, rig.Median(times)/batch, service, size, a, b)
	return nil
}
