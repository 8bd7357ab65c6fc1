package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
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
	// Assets runs the query r and appends the assets that it finds to w. form is their format.
	Assets(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, form encode.Form, w []byte) ([]byte, error)
}

// Engine executes writes by path. It is safe for concurrent use.
type Engine struct {
	assets *asset.Engine
	finder Finder
}

// New returns an engine. Its write engine is assets, and finder reads its answers.
func New(assets *asset.Engine, finder Finder) *Engine {
	return &Engine{assets: assets, finder: finder}
}

// Write is one write by path.
//
//	POST rest-1.v1/Data/Story/1064?op=Copy
//	{Form: encode.Form{Base: "/alds/rest-1.v1/Data"}, Type: "Story", ID: "1064", Op: "Copy"}
type Write struct {
	Form     encode.Form // format of the answer
	Type, ID string      // from the path; empty ID: a new asset
	Op       string      // name of an operation; empty: create or update
	Context  string      // Oid token of the asset that a new asset gets defaults from; may be empty
	Comment  string      // stored as ChangeComment
	Key      string      // Idempotency-Key; empty: none
	IfMoment int64       // the moment that the asset must have; 0: any; see oid.HasMoment
	Body     []byte      // JSON or XML; may be empty
	Language string      // the Accept-Language header, for the format of numbers in texts
	Content  *blob.Ref   // new value of the attribute Content, instead of a body; nil: none
}

// Write creates an asset, changes an asset, or runs an operation on an asset. It returns the
// resulting asset with its new moment and the attributes of the body.
// Shape: {"_type":"Asset","href":…,"id":"Story:1001:1005","Attributes":{…}}, or
// <Asset href="…" id="Story:1001:1005">…</Asset>
// Errors: fault.Invalid if the body or a value is invalid; fault.Denied if the member may not do
// this; fault.NotFound if there is no such asset; fault.Conflict if the asset has another moment,
// or if the Idempotency-Key was used for another request.
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
			sent = nil // the client already has the bytes
		}
		return e.result(ctx, s.Tx(), s.Who(), w.Form, done[0].Result, sent)
	})
}

// identity returns the Idempotency-Key of a write and the hash of the write. The format of the
// answer is a part of the hash, because the answer is stored in that format.
func (e *Engine) identity(ctx context.Context, who auth.Actor, w Write, c *asset.Command) (requests.Identity, error) {
	text := w.Type + "/" + w.ID + "?" + w.Op + "&" + w.Context + "\n" + string(w.Body)
	if w.Form.Format == document.XML {
		text += "\nXML"
	}
	hasSecrets := slices.ContainsFunc(c.Changes, func(ch asset.Change) bool { return e.assets.IsSecret(ch.Name) })
	return e.assets.Identity(ctx, who, w.Key, []byte(text), hasSecrets)
}

// command returns the command for a write. The command is always a create. For an existing asset,
// target later changes the command. emptied contains the names of the attributes that the write
// sets to nothing.
// Errors: fault.Invalid.
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
			err = plainNumbers(t, c.Changes, w.Language, document.IsXML(w.Body))
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

// empty changes c so that it removes all values of the multi-value attributes among names. Values
// that the caller may not see remain, as they do when a to-one relation is set to nothing.
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

// target turns a create into an update or an operation on the asset of the path. The asset must
// exist. If the command is an update and the type in the path is not abstract, the write engine
// checks later that the asset exists, when it locks the asset. A deleted asset is only found for
// an operation that runs on deleted assets.
//
// If a Delete finds its asset already deleted, gone is the asset with its moment. Then there is
// nothing to do, and the member needs no right.
// Errors: fault.NotFound; fault.Conflict for another moment; fault.Invalid for an invalid id.
// Spec: interface 4.1.7.
func (e *Engine) target(
	ctx context.Context, s *asset.Session, who auth.Actor, w Write, c *asset.Command,
) (gone oid.OID, err error) {
	c.Verb, c.Type, c.Self = asset.Update, nil, nil
	if w.Op != "" {
		c.Verb = asset.Operate
	}
	o, err := oid.Parse(w.Type + ":" + w.ID)
	if err != nil {
		return gone, err // not NotFound: to clients, 404 means that the asset existed and is gone
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

// onDeleted reports whether the operation called name can run on deleted assets of the type of o.
func (e *Engine) onDeleted(o oid.OID, name string) bool {
	t, ok := e.assets.Model().Type(o.Type)
	if !ok {
		return false
	}
	op, ok := t.Op(name)
	return ok && slices.Contains(op.Effect.From, meta.StateDeleted)
}

// withoutArguments adds a hint to the error of an operation if a required argument is missing. A
// path cannot contain arguments, so the client must send a bulk command. withoutArguments returns
// other errors unchanged.
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
	const form = `%s; to give arguments, send {"from": "%s", "execute": {"op": "%s", "args": {"%s": …}}} to api/asset`
	return fault.Invalidf(fault.NoPlace, form,
		fault.Public(err), c.Target.OID, op.Name, strings.Join(op.Effect.Args, `": …, "`))
}

// result returns an asset with the attributes that the changes in sent name. It reads the current
// values of the attributes, not their values at the moment of o. A relation that is stored on the
// other asset changes at a later moment than o.
func (e *Engine) result(
	ctx context.Context, q db.Querier, who auth.Actor, form encode.Form, o oid.OID, sent []asset.Change,
) ([]byte, error) {
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
		if fault.KindOf(err) != fault.NotFound { // the asset was moved to a project that the caller may not see
			return answer, err
		}
	}
	answer := encode.NewAssets(form, e.assets.Model(), nil)
	return answer.Bare(answer.Begin(nil), o), nil
}
