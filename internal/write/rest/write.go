package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/doc"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Finder reads assets.
type Finder interface {
	Assets(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, form encode.Form, w []byte) ([]byte, error)
}

// Engine executes writes by path. It is safe for concurrent use.
type Engine struct {
	assets *asset.Engine
	finder Finder
}

// New returns an engine on the write engine and a reader.
func New(assets *asset.Engine, finder Finder) *Engine {
	return &Engine{assets: assets, finder: finder}
}

// Write is one write by path.
//
//	POST rest-1.v1/Data/Story/1064?op=Copy
//	{Form: encode.Form{Base: "/alds/rest-1.v1/Data"}, Type: "Story", ID: "1064", Op: "Copy"}
type Write struct {
	Form     encode.Form // of the answer
	Type, ID string      // of the path; empty ID: a new asset
	Op       string      // operation; empty: create or update
	Context  string      // Oid token whose values are the defaults of a new asset; may be empty
	Comment  string      // stored as ChangeComment
	Key      string      // Idempotency-Key; empty: none
	IfMoment int64       // the moment the asset must have; 0: any
	Body     []byte      // JSON or XML; may be empty
	Language string      // Accept-Language, by which numbers in texts are read
	Content  *blob.Ref   // the content to set, in the place of a body; nil: none
}

// Write creates an asset, changes one or runs an operation on it. It returns the
// asset that results, with its new moment and the attributes of the body.
// Shape: {"_type":"Asset","href":…,"id":"Story:1001:1005","Attributes":{…}}, or
// <Asset href="…" id="Story:1001:1005">…</Asset>
// Errors: fault.Invalid for what the rules refuse; fault.NotFound for an unknown
// asset; fault.Conflict for another moment or a key of another request.
func (e *Engine) Write(ctx context.Context, who auth.Actor, w Write) ([]byte, error) {
	c, emptied, err := e.command(ctx, who, w)
	if err != nil {
		return nil, err
	}
	once, err := e.identity(ctx, who, w, c)
	if err != nil {
		return nil, err
	}
	req := asset.Request{ID: asset.NewRequestID(), Comment: w.Comment}
	return e.assets.Answer(ctx, who, req, once, func(s *asset.Session) ([]byte, error) {
		if w.ID != "" {
			gone, err := e.target(ctx, s, who, w, c)
			if err != nil {
				return nil, err
			}
			if !gone.IsNull() {
				return e.result(ctx, s.Tx(), s.Who(), w.Form, gone, nil)
			}
			if err := e.empty(ctx, s, c, emptied); err != nil {
				return nil, err
			}
		}
		done, err := s.Run(ctx, []*asset.Command{c})
		switch {
		case err != nil:
			return nil, err
		case done[0].Err != nil:
			return nil, e.withoutArguments(c, done[0].Err)
		case done[0].Skipped:
			return nil, asset.NotFound()
		}
		if err := s.Finish(ctx); err != nil {
			return nil, err
		}
		sent := c.Changes
		if w.Content != nil {
			sent = nil // who has sent the bytes has them
		}
		return e.result(ctx, s.Tx(), s.Who(), w.Form, done[0].Result, sent)
	})
}

// identity returns by what a write is known again. Its answer is kept in one format.
func (e *Engine) identity(ctx context.Context, who auth.Actor, w Write, c *asset.Command) (requests.Identity, error) {
	text := w.Type + "/" + w.ID + "?" + w.Op + "&" + w.Context + "\n" + string(w.Body)
	if w.Form.Format == doc.XML {
		text += "\nXML"
	}
	hasSecrets := slices.ContainsFunc(c.Changes, func(ch asset.Change) bool { return e.assets.IsSecret(ch.Name) })
	return e.assets.Identity(ctx, who, w.Key, []byte(text), hasSecrets)
}

// command returns the command of a write, as a create, and the names of what it sets to
// nothing. Errors: fault.Invalid.
func (e *Engine) command(ctx context.Context, who auth.Actor, w Write) (c *asset.Command, emptied []string, err error) {
	t, ok := e.assets.Model().Type(w.Type)
	if !ok {
		return nil, nil, asset.UnknownType(w.Type)
	}
	c = &asset.Command{Verb: asset.Create, Type: t, Op: w.Op, IfMoment: w.IfMoment, Self: &asset.Handle{}}
	switch {
	case w.Content != nil:
		c.Changes = []asset.Change{{Name: "Content", Content: w.Content}}
	case w.Op == "":
		if c.Changes, emptied, err = decode(w.Body); err == nil {
			err = plainNumbers(t, c.Changes, w.Language, doc.IsXML(w.Body))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if len(ch.Set) != 1 {
			continue
		}
		if ch.Sealed, err = e.assets.Seal(ctx, who, ch.Name, ch.Set[0]); err != nil {
			return nil, nil, err
		}
	}
	if w.Context == "" {
		return c, emptied, nil
	}
	o, err := oid.Parse(w.Context)
	c.Context = asset.Ref{OID: o, Token: w.Context}
	return c, emptied, err
}

// empty makes the changes of the attributes named remove all that the caller sees in
// them now, where they take several values. What the caller does not see stays, as it
// does in a relation to one.
func (e *Engine) empty(ctx context.Context, s *asset.Session, c *asset.Command, names []string) error {
	t, _ := e.assets.Model().Type(c.Target.OID.Type)
	r := query.Request{From: query.Text{Text: c.Target.OID.Now().String()}, One: true}
	for _, name := range names {
		if a, ok := t.Attr(name); ok && a.Multi {
			r.Select = append(r.Select, query.Item{Text: query.Text{Text: name}})
		}
	}
	if len(r.Select) == 0 {
		return nil
	}
	answer, err := e.finder.Assets(ctx, s.Tx(), s.Who(), r, encode.Form{}, nil)
	if err != nil {
		return err
	}
	present, _, err := decodeJSON(answer)
	if err != nil {
		return err
	}
	for _, now := range present {
		i := slices.IndexFunc(c.Changes, func(ch asset.Change) bool { return ch.Name == now.Name })
		c.Changes[i].Set, c.Changes[i].Remove = nil, now.Add
	}
	return nil
}

// target turns a command into one on the asset of the path, which must exist. A
// deleted one exists only for operations on deleted assets. Whether an asset to change is
// there is seen when it is locked, but for one that is named by a type above its own.
// gone is the asset, with its moment, where it is to be deleted and is deleted already:
// then there is nothing to do, and no right is needed to do it.
// Errors: fault.NotFound; fault.Conflict for another moment; fault.Invalid for an id that
// nothing can have. Spec: interface 4.1.7.
func (e *Engine) target(ctx context.Context, s *asset.Session, who auth.Actor, w Write, c *asset.Command) (gone oid.OID, err error) {
	c.Verb, c.Type, c.Self = asset.Update, nil, nil
	if w.Op != "" {
		c.Verb = asset.Operate
	}
	o, err := oid.Parse(w.Type + ":" + w.ID)
	if err != nil {
		return gone, err // as in a read: 404 says that the asset is gone
	}
	if t, ok := e.assets.Model().Type(o.Type); ok && !t.Abstract && c.Verb == asset.Update {
		c.Target, c.ByPath = asset.Ref{OID: o.Now()}, true
		return gone, nil
	}
	known, err := e.assets.Lookup(ctx, s.Tx(), who, []oid.OID{o})
	if err != nil {
		return gone, err
	}
	k, ok := known[o]
	switch {
	case ok && k.Gone && w.Op == opDelete:
		if !oid.HasMoment(k.Moment, c.IfMoment) {
			return gone, asset.Stale(k.OID)
		}
		gone = k.OID
		gone.Moment = k.Moment
	case !ok || k.Deleted && !e.onDeleted(k.OID, w.Op):
		return gone, asset.NotFound()
	}
	c.Target = asset.Ref{OID: k.OID}
	return gone, nil
}

const opDelete = "Delete"

// onDeleted reports whether an operation runs on deleted assets.
func (e *Engine) onDeleted(o oid.OID, name string) bool {
	t, ok := e.assets.Model().Type(o.Type)
	if !ok {
		return false
	}
	op, ok := t.Op(name)
	return ok && slices.Contains(op.Effect.From, meta.StateDeleted)
}

// withoutArguments adds to the failure of an operation that lacks an argument how one is
// given: an address has no place for it.
func (e *Engine) withoutArguments(c *asset.Command, err error) error {
	t, ok := e.assets.Model().Type(c.Target.OID.Type)
	if !ok || c.Verb != asset.Operate {
		return err
	}
	op, ok := t.Op(c.Op)
	if !ok || !slices.ContainsFunc(op.Effect.Args, func(name string) bool {
		return strings.HasPrefix(fault.Public(err), "Violation'Required'"+t.Name+"."+name)
	}) {
		return err
	}
	return fault.Invalidf(fault.NoPlace, `%s; to give arguments, send {"from": "%s", "execute": {"op": "%s", "args": {"%s": …}}} to api/asset`,
		fault.Public(err), c.Target.OID, op.Name, strings.Join(op.Effect.Args, `": …, "`))
}

// result returns an asset with those of its attributes that were sent, as they are now:
// what was related from the other side has a later moment than the asset.
func (e *Engine) result(ctx context.Context, q db.Querier, who auth.Actor, form encode.Form, o oid.OID, sent []asset.Change) ([]byte, error) {
	r := query.Request{From: query.Text{Text: o.Now().String()}, One: true}
	form.Moments = true
	t, _ := e.assets.Model().Type(o.Type)
	for _, ch := range sent {
		if a, ok := t.Attr(ch.Name); ok && a.Place.Kind != meta.Secret {
			r.Select = append(r.Select, query.Item{Text: query.Text{Text: ch.Name}})
		}
	}
	if len(r.Select) > 0 {
		answer, err := e.finder.Assets(ctx, q, who, r, form, nil)
		if fault.KindOf(err) != fault.NotFound { // moved to a project that the caller does not see
			return answer, err
		}
	}
	answer := encode.NewAssets(form, e.assets.Model(), nil)
	return answer.Bare(answer.Begin(nil), o), nil
}
