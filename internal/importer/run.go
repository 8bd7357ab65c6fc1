package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options are the settings of an import.
type Options struct {
	URL, Token string // of the service; the URL may have a user and a password instead of a token
	Format     string // csv, jsonl or jira
	File       string // path of the file; "-": Stdin
	// Project is the Oid or name of the project that everything goes into. Empty means that the
	// records name their projects.
	Project      string
	DryRun       bool          // let the service roll back every request
	Update       bool          // change existing assets to match the file; otherwise they stay as they are
	WithoutDates bool          // leave out original dates and authors, which only system administrators may import
	Batch        int           // maximum number of records in one request
	Patience     time.Duration // how long a request is repeated while the service is busy or unreachable
	// Work is the folder for the file of rejected records and the files that an interrupted
	// import needs. Empty means the folder of File.
	Work string

	Stdin    io.Reader
	Out, Log io.Writer // Out receives the result, Log receives progress and problems
}

// Counts has the numbers of records of an import by their result.
type Counts struct {
	Records, Created, Updated, Skipped, Rejected int // Skipped: records whose assets exist and did not change

	Lacking int // number of links that were not set
}

// ErrProblems means that an import has read everything, but has rejected records or links.
var ErrProblems = errors.New("not everything was imported")

// maxBatch is the number of bytes of records at which a batch is sent, even if it has few records.
const maxBatch = 4 << 20

// run is one import.
type run struct {
	o        Options
	mapping  Mapping
	client   *client
	model    *model
	index    *index
	resolver *resolver
	pending  pending
	made     *made
	rejects  *rejects
	progress *progress

	batch    batch
	deferred *spool[item]    // items that were postponed
	waiting  map[digest]bool // keys and other names of the postponed items
	later    spool[lateLink] // links to set at the end
	over     bool            // true: all records were read
	final    bool            // true: the postponed items wait for each other; their links are left out or rejected
	lost     bool            // true: a link that must not be left out was not set
	counts   Counts
	said     map[string]bool // messages that complain has logged
}

// Run imports a file. To continue an interrupted import, run it again with the same options.
// Errors: ErrProblems if the whole file was read, but records or links were rejected. Other errors
// end the import early. If Counts.Records is then 0, no record was read.
func Run(ctx context.Context, o Options, m Mapping) (Counts, error) {
	in, size, err := open(o)
	if err != nil {
		return Counts{}, err
	}
	defer in.Close()
	r, err := newRun(o, m, size)
	if err != nil {
		return Counts{}, err
	}
	src, err := openSource(o.Format, r.progress.of(in), []rune(m.Separator)[0])
	if err != nil {
		return Counts{}, fmt.Errorf("%s: %w", o.File, err)
	}
	if t, ok := src.(*table); ok && !slices.Contains(t.columns, m.Key.Column) {
		return Counts{}, fmt.Errorf("%s has no column %s, which must have the key of each record;"+
			" `key` in a mapping can name another column", o.File, m.Key.Column)
	}
	if r.rejects = (&rejects{head: src.head()}); !o.DryRun {
		r.rejects.path = o.beside(".rejects" + src.suffix())
	}
	err = r.all(ctx, src)
	r.progress.end()
	err = errors.Join(err, r.rejects.close(), r.made.close())
	if err == nil {
		err = r.finish()
	}
	return r.counts, err
}

// open opens the file. It returns its size in bytes; 0: unknown.
func open(o Options) (io.ReadCloser, int64, error) {
	if o.File == "-" {
		return io.NopCloser(o.Stdin), 0, nil
	}
	f, err := os.Open(o.File)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// beside returns the path of a file that belongs to an import. The file has the name of the
// imported file with another suffix.
func (o Options) beside(suffix string) string {
	folder, name := filepath.Split(o.File)
	if o.File == "-" {
		name = "import"
	}
	if o.Work != "" {
		folder = o.Work
	}
	name = strings.TrimSuffix(name, ".gz")
	return filepath.Join(folder, strings.TrimSuffix(name, filepath.Ext(name))+suffix)
}

// mark returns the path of the file with the pending request. The path contains the full name of
// the imported file, so that files that differ only in their suffix have different marks.
func (o Options) mark() string {
	folder, name := filepath.Split(o.File)
	if o.File == "-" {
		name = "import." + o.Format
	}
	if o.Work != "" {
		folder = o.Work
	}
	return filepath.Join(folder, name+".pending")
}

func newRun(o Options, m Mapping, size int64) (*run, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	r := &run{
		o: o, mapping: m, client: c, progress: newProgress(o.Log, size),
		pending: pending{o.mark()}, made: &made{path: o.mark() + ".made"},
		batch: batch{keys: map[digest]int{}}, deferred: &spool[item]{}, waiting: map[digest]bool{}, said: map[string]bool{},
	}
	c.wait = func(err error) { r.complain(fmt.Sprintf("waiting for the service: %v", err)) }
	r.model = &model{client: c, key: m.Key.Attribute, types: map[string]*assetType{}}
	r.index = newIndex(c, r.model)
	r.resolver = newResolver(c, r.model, r.pending, o.DryRun)
	return r, nil
}

// all imports every record: first the records that need not wait, then the postponed records, then
// the links that are set at the end.
func (r *run) all(ctx context.Context, src source) error {
	if err := r.resolver.top(ctx, r.o.Project); err != nil {
		return err
	}
	if err := r.resume(ctx); err != nil {
		return err
	}
	for {
		rec, err := src.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("after record %d: %w", r.counts.Records, errors.Join(err, r.flush(ctx)))
		}
		r.counts.Records++
		it, err := r.mapping.translate(rec)
		if err != nil {
			err = r.reject(it, err)
		} else {
			err = r.take(ctx, it)
		}
		if err != nil {
			return err
		}
		r.progress.show(r.counts.Records)
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.over = true
	if err := r.takeDeferred(ctx); err != nil {
		return err
	}
	return r.setLater(ctx)
}

// resume continues an interrupted import. It sends the pending request again, unless the
// service has executed it.
func (r *run) resume(ctx context.Context) error {
	if r.o.DryRun {
		return nil
	}
	s, cutOff, err := r.pending.load()
	if err != nil {
		return fmt.Errorf("%s: %w", r.pending.path, err)
	}
	if !cutOff {
		return removeFile(r.made.path)
	}
	if err := r.made.load(); err != nil {
		return err
	}
	r.progress.say("An earlier import was interrupted; this import continues it.")
	done, err := r.executed(ctx, s)
	if err != nil || done {
		return err
	}
	a, err := r.client.write(ctx, s.Body, s.Idempotency)
	if isStatus(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusForbidden) {
		return nil // this import reads the same records and reports their errors
	}
	if err != nil {
		return err
	}
	return r.index.created(ctx, s.Creates, a.AssetsCreated.OIDTokens, false)
}

// executed reports whether the service has executed a request. It looks for an asset or a
// comment that the request creates.
func (r *run) executed(ctx context.Context, s sent) (bool, error) {
	if s.Check != nil && len(s.Creates) == 0 {
		oids, err := r.resolver.oids(ctx, s.Check)
		return len(oids) > 0, err
	}
	for _, c := range s.Creates {
		root, err := r.index.root(ctx, c.Root)
		if err != nil {
			return false, err
		}
		if _, ok := r.index.find(root, c.Key); ok {
			return true, nil
		}
	}
	return len(s.Creates) == 0, nil
}

// take adds an item to the batch, and sends the batch if it is full. It postpones an item that must
// wait for another item. It skips an existing asset, unless Options.Update is true.
func (r *run) take(ctx context.Context, it item) error {
	e, err := r.entry(ctx, it)
	if isProblem(err) {
		return r.reject(it, err)
	}
	if err != nil {
		return err
	}
	if e.exists && !r.o.Update {
		r.counts.Skipped++
		if r.made.keys[digestOf(e.root, it.Key)] {
			return r.linkAgain(ctx, it, e.asset)
		}
		return nil
	}
	wait, err := r.mustWait(ctx, e)
	if isProblem(err) {
		return r.reject(it, err)
	}
	if err != nil {
		return err
	}
	if wait {
		return r.postpone(e)
	}
	delete(r.waiting, digestOf(e.root, it.Key))
	delete(r.waiting, digestOf(e.root, "\x00"+it.Alias))
	if r.batch.add(e); len(r.batch.entries) >= r.o.Batch || r.batch.bytes >= maxBatch {
		return r.flush(ctx)
	}
	return nil
}

// postpone stores an item until the other items have been sent.
func (r *run) postpone(e entry) error {
	r.waiting[digestOf(e.root, e.Key)] = true
	if e.Alias != "" {
		r.waiting[digestOf(e.root, "\x00"+e.Alias)] = true
	}
	return r.deferred.add(e.item)
}

// isWaiting reports whether the record with a key or another name was postponed.
func (r *run) isWaiting(root, key string) bool {
	return r.waiting[digestOf(root, key)] || r.waiting[digestOf(root, "\x00"+key)]
}

// entry returns an entry for an item, with the asset that has its key.
// Errors: a problem for a key that occurs twice; errors of the service.
func (r *run) entry(ctx context.Context, it item) (entry, error) {
	root, err := r.index.root(ctx, it.Type)
	if err != nil {
		return entry{}, err
	}
	e := entry{item: it, root: root}
	e.asset, e.exists = r.index.find(root, it.Key)
	_, inBatch := r.batch.keys[digestOf(root, it.Key)]
	switch {
	case inBatch, e.asset.fresh, !r.over && r.waiting[digestOf(root, it.Key)]:
		return e, problemf("the key %s comes twice", it.Key)
	case e.exists && it.Alias != "":
		r.index.alias(root, it.Alias, e.asset)
	}
	return e, nil
}

// mustWait reports whether an item links to a record that was not sent yet but may still be sent.
func (r *run) mustWait(ctx context.Context, e entry) (bool, error) {
	if r.final {
		return false, nil
	}
	for name, l := range e.Links {
		if l.Later {
			continue
		}
		root, err := r.target(ctx, e.Type, name)
		if err != nil {
			return false, err
		}
		for _, key := range l.Keys {
			_, there := r.index.named(root, key)
			_, inBatch := r.batch.position(root, key)
			if there || inBatch {
				continue
			}
			if !r.over || r.isWaiting(root, key) {
				return true, nil
			}
		}
	}
	return false, nil
}

// takeDeferred takes the postponed items, again and again until no item is left. After a round in
// which no item could be sent, it sets r.final. Items then no longer wait for each other.
func (r *run) takeDeferred(ctx context.Context) error {
	for r.deferred.n > 0 {
		waiting := r.deferred
		r.deferred = &spool[item]{}
		err := waiting.each(func(it item) error {
			defer r.progress.show(r.counts.Records)
			return r.take(ctx, it)
		})
		if err == nil {
			err = r.flush(ctx)
		}
		if err != nil {
			return err
		}
		r.final = r.deferred.n == waiting.n // no item was sent: they wait for each other in a circle
	}
	return nil
}
