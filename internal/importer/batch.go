package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// importable has the attributes that the service sets only if the request has the config "import",
// and only on new assets.
var importable = []string{"CreateDate", "CreateDateUTC", "CreatedBy", "ChangeDate", "ChangeDateUTC", "ChangedBy"}

// entry is an item in a batch.
type entry struct {
	item

	root   string // the type whose assets have the key
	asset  asset  // the asset with the item's key; only valid if exists is true
	exists bool   // an asset has the item's key
	at     int    // index in the batch
	lacks  []lack // links that are set at the end
	on     []int  // entries of the batch to which this entry refers by an alias of the request (@r0)
}

// batch has the entries that are sent in one request.
type batch struct {
	entries []entry
	bytes   int            // total size of the records in bytes
	keys    map[digest]int // by digest of a key or another name: the index of the entry that has it
}

func (b *batch) add(e entry) {
	b.keys[digestOf(e.root, e.Key)] = len(b.entries)
	if e.Alias != "" {
		b.keys[digestOf(e.root, "\x00"+e.Alias)] = len(b.entries)
	}
	e.at, e.lacks, e.on = len(b.entries), nil, nil
	b.entries = append(b.entries, e)
	b.bytes += len(e.Raw)
}

// position returns the index of the entry that has a key or another name.
func (b *batch) position(root, name string) (int, bool) {
	n, ok := b.keys[digestOf(root, name)]
	if !ok {
		n, ok = b.keys[digestOf(root, "\x00"+name)]
	}
	return n, ok
}

// alias returns the alias of the nth entry in the request of its batch.
func alias(n int) string { return fmt.Sprintf("@r%d", n) }

// request has the commands of a batch.
type request struct {
	commands []any
	entries  []int           // by command: the index of its entry; -1: none
	idle     int             // number of entries that need no command
	imports  bool            // the request needs the config "import"
	creates  []created       // the assets that the request creates
	later    []digest        // keys of created assets whose links are set at the end
	check    map[string]any  // a query that finds a comment that the request adds; nil: it adds none
	stubs    map[string]bool // aliases that stub has added
}

func (q *request) add(command any, entry int) {
	q.commands, q.entries = append(q.commands, command), append(q.entries, entry)
}

// flush sends the batch and begins a new one. It rejects the records that the service refuses.
func (r *run) flush(ctx context.Context) error {
	b := r.batch
	r.batch = batch{keys: map[digest]int{}}
	if len(b.entries) == 0 {
		return nil
	}
	q, err := r.request(ctx, &b)
	if err != nil {
		return err
	}
	var a answer
	if len(q.entries) > 0 {
		a, err = r.post(ctx, q)
	}
	if r.isAtFault(ctx, err) {
		return r.divide(ctx, b, err)
	}
	if err != nil {
		return err
	}
	return r.settle(ctx, &b, q, a)
}

// isAtFault reports whether the request is the cause of an error. It is the cause if the service
// refuses the request with 400 or 413. It is also the cause if the service never completes the
// request, but answers other requests. isAtFault returns false if the outcome of the request is
// unknown. The import then ends, and the next run finds out the outcome.
func (r *run) isAtFault(ctx context.Context, err error) bool {
	if !isStatus(err, http.StatusServiceUnavailable) || strings.Contains(err.Error(), "outcome") {
		return isStatus(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge)
	}
	var rows []struct{}
	_, failed := r.client.query(ctx, map[string]any{"from": "Scope:0"}, &rows)
	return failed == nil
}

// divide sends the two halves of a batch separately, because the request of the whole batch has
// failed. If the batch has only one record, divide rejects the record.
func (r *run) divide(ctx context.Context, b batch, cause error) error {
	if len(b.entries) == 1 {
		return r.reject(b.entries[0].item, cause)
	}
	half := len(b.entries) / 2
	for _, part := range [][]entry{b.entries[:half], b.entries[half:]} {
		for _, e := range part {
			if e.Key != "" {
				r.batch.add(e)
			}
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// request returns the commands of a batch. It rejects records that cannot become a command, and
// postpones records that wait for other records.
func (r *run) request(ctx context.Context, b *batch) (*request, error) {
	q := &request{stubs: map[string]bool{}}
	there, err := r.present(ctx, b)
	if err != nil {
		return q, err
	}
	for i, e := range b.entries {
		command, err := r.command(ctx, b, q, i, there)
		if isProblem(err) || errors.Is(err, errWaits) {
			b.entries[i].Key = "" // no command creates the asset, so no other entry may refer to it
			if isProblem(err) {
				err = r.reject(e.item, err)
			} else {
				err = r.postpone(e)
			}
			if err != nil {
				return q, err
			}
			continue
		}
		if err != nil {
			return q, err
		}
		if command == nil {
			q.idle++
			continue
		}
		if q.add(command, i); e.exists {
			continue
		}
		q.creates = append(q.creates, created{e.root, e.Key, e.Type})
		if e.linksLater() {
			q.later = append(q.later, digestOf(e.root, e.Key))
		}
	}
	return q, nil
}

// command returns the command that creates or updates the asset of the ith entry. It returns
// nil if nothing changes. there has the current values of existing assets by Oid.
func (r *run) command(ctx context.Context, b *batch, q *request, i int, there map[string]present) (any, error) {
	e := b.entries[i]
	values := maps.Clone(e.Values)
	if err := r.resolve(ctx, b, q, e, values); err != nil {
		return nil, err
	}
	for _, name := range importable {
		if _, ok := values[name]; ok {
			if e.exists || r.o.WithoutDates {
				delete(values, name)
			} else {
				q.imports = true
			}
		}
	}
	if e.exists {
		return r.update(ctx, q, e, values, there[r.index.oid(e.asset)])
	}
	values["AssetType"] = e.Type
	return map[string]any{alias(i): values}, nil
}

// creates reports whether a value creates assets. An update must not send such a value,
// because it would create the assets again.
func creates(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return v["AssetType"] != nil
	case []any:
		return slices.ContainsFunc(v, creates)
	}
	return false
}

// nowhere is an Oid that no asset has. A dry run ends with a command for it, which fails, so
// that the service rolls the request back.
const nowhere = "Scope:9223372036854775807"

// post sends a request. In a dry run it makes the service roll the request back.
func (r *run) post(ctx context.Context, q *request) (answer, error) {
	config := []string{}
	if q.imports {
		config = append(config, "import")
	}
	commands := []any{}
	if r.o.DryRun {
		config = append(config, "atomic")
		for _, c := range r.resolver.would {
			commands = append(commands, c)
		}
	}
	commands = append([]any{map[string]any{"config": config}}, commands...)
	q.entries = append(slices.Repeat([]int{-1}, len(commands)), q.entries...)
	commands = append(commands, q.commands...)
	if r.o.DryRun {
		commands = append(commands, map[string]any{"from": nowhere, "update": map[string]any{"Name": "x"}})
		q.entries = append(q.entries, -1)
	}
	body, err := marshal(commands)
	if err != nil {
		return answer{}, err
	}
	if r.o.DryRun {
		return r.client.write(ctx, body, "")
	}
	if err := r.made.note(q.later); err != nil {
		return answer{}, err
	}
	return r.pending.send(ctx, r.client, sent{Body: body, Creates: q.creates, Check: q.check})
}

// settle processes the answer to a request. It counts the results, and rejects or postpones the
// records that failed. It stores the Oids of the new assets, and the links to set at the end.
func (r *run) settle(ctx context.Context, b *batch, q *request, a answer) error {
	failed := a.failures()
	r.counts.Skipped += q.idle
	var made []entry
	gone := map[int]bool{} // true: the entry failed
	for n, i := range q.entries {
		message, bad := failed[n]
		if i < 0 {
			if bad && n < len(q.entries)-1 {
				r.complain(message)
			}
			continue
		}
		e := b.entries[i]
		gone[i] = bad
		switch {
		case bad:
			b.entries[i].Key = "" // the loop over the entries below skips it
			if err := r.refused(e, message, gone); err != nil {
				return err
			}
			continue
		case e.exists:
			r.counts.Updated++
		default:
			r.counts.Created++
			made = append(made, e)
		}
	}
	if err := r.learn(ctx, made, a.AssetsCreated.OIDTokens); err != nil {
		return err
	}
	for _, e := range b.entries {
		if a, ok := r.index.find(e.root, e.Key); ok && e.Key != "" {
			if err := r.linkLater(e.item, a, e.lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused rejects a record that the service has refused. If the record refers to another
// refused record, refused postpones it, because that may be the only reason of the failure.
// gone has the refused entries.
func (r *run) refused(e entry, message string, gone map[int]bool) error {
	if slices.ContainsFunc(e.on, func(n int) bool { return gone[n] }) {
		return r.postpone(e)
	}
	return r.reject(e.item, problemf("%s", message))
}

// learn adds new assets with their Oids to the index. made has the entries that created an asset.
// oids are the Oids of all assets that the request created.
func (r *run) learn(ctx context.Context, made []entry, oids []string) error {
	var unknown []created
	for n, e := range made {
		switch {
		case r.o.DryRun:
			r.index.expect(e.root, e.Key, e.Type)
		case len(oids) == len(made): // no command created further assets, so oids are in the order of made
			if err := r.index.add(e.root, e.Key, oids[n], true); err != nil {
				return err
			}
		default:
			unknown = append(unknown, created{e.root, e.Key, e.Type})
		}
	}
	if err := r.index.created(ctx, unknown, oids, true); err != nil {
		return err
	}
	for _, e := range made {
		if a, ok := r.index.find(e.root, e.Key); ok && e.Alias != "" {
			r.index.alias(e.root, e.Alias, a)
		}
	}
	return nil
}
