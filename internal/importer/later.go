package importer

import (
	"context"
	"strings"
)

// lack is a link that cannot be set yet.
type lack struct {
	Name    string // name of the relation
	Root    string // the type whose assets have the key
	Key     string
	MayLack bool // the link is left out if no asset has the key
}

// lateLink is a link that is set when all records have been imported.
type lateLink struct {
	lack

	Line      int
	From, OID string // the key and the Oid of the asset that has the link
}

// linksLater reports whether an item has links that are set at the end.
func (it *item) linksLater() bool {
	for _, l := range it.Links {
		if l.Later {
			return true
		}
	}
	return false
}

// linkLater stores links of an asset that are set at the end.
func (r *run) linkLater(it item, a asset, lacks []lack) error {
	for _, l := range lacks {
		if err := r.later.add(lateLink{lack: l, Line: it.Line, From: it.Key, OID: r.index.oid(a)}); err != nil {
			return err
		}
	}
	return nil
}

// linkAgain stores the links of an asset that an earlier, interrupted import has created. That
// import did not set these links.
func (r *run) linkAgain(ctx context.Context, it item, a asset) error {
	var lacks []lack
	for name, l := range it.Links {
		if !l.Later {
			continue
		}
		root, err := r.target(ctx, it.Type, name)
		if err != nil {
			return err
		}
		for _, key := range l.Keys {
			lacks = append(lacks, lack{name, root, key, l.MayLack})
		}
	}
	return r.linkLater(it, a, lacks)
}

// setLater sets the links that linkLater has stored.
func (r *run) setLater(ctx context.Context) error {
	q := &request{}
	var of []item
	err := r.later.each(func(l lateLink) error {
		it := item{Line: l.Line, Key: l.From}
		a, ok := r.index.named(l.Root, l.Key)
		if ok && l.MayLack {
			typ, _, _ := strings.Cut(l.OID, ":")
			var err error
			if ok, err = r.model.takes(ctx, typ, l.Name, r.index.typeOf(a)); err != nil {
				return err
			}
		}
		if !ok {
			r.counts.Lacking++
			if r.lost = r.lost || !l.MayLack; !l.MayLack {
				r.tell(it, problemf("%s: no record and no asset has the key %s", l.Name, l.Key))
			}
			return nil
		}
		if r.o.DryRun {
			return nil
		}
		add := map[string]any{"add": []string{r.index.oid(a)}}
		q.add(map[string]any{"from": l.OID, "update": map[string]any{l.Name: add}}, len(of))
		if of = append(of, it); len(of) < r.o.Batch {
			return nil
		}
		err := r.postLater(ctx, q, of)
		q, of = &request{}, nil
		return err
	})
	if err != nil || len(of) == 0 {
		return err
	}
	return r.postLater(ctx, q, of)
}

// postLater sends a request that sets links of some items. If the request is the cause of an error,
// postLater sends the two halves of the request separately. A link may be sent twice, because
// setting it again changes nothing.
func (r *run) postLater(ctx context.Context, q *request, of []item) error {
	commands := q.commands // without the commands that post adds
	a, err := r.post(ctx, q)
	switch {
	case !r.isAtFault(ctx, err):
	case len(of) == 1:
		r.counts.Lacking++
		r.lost = true
		r.tell(of[0], err)
		return nil
	default:
		half := len(of) / 2
		for _, part := range [][2]int{{0, half}, {half, len(of)}} {
			some := &request{}
			for i := part[0]; i < part[1]; i++ {
				some.add(commands[i], i-part[0])
			}
			if err := r.postLater(ctx, some, of[part[0]:part[1]]); err != nil {
				return err
			}
		}
		return nil
	}
	for n, message := range a.failures() {
		if i := q.entries[n]; i >= 0 {
			r.counts.Lacking++
			r.lost = true
			r.tell(of[i], problemf("%s", message))
		}
	}
	return err
}
