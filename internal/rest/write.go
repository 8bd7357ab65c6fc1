package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/requests"
	"github.com/alds-dev/alds/internal/value"
)

// Finder reads assets back.
type Finder interface {
	Assets(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, base string, w []byte) ([]byte, error)
}

// Engine carries out writes by path. It is safe for concurrent use.
type Engine struct {
	assets *asset.Engine
	finder Finder
}

// New returns the engine over the write engine and a reader.
func New(assets *asset.Engine, finder Finder) *Engine {
	return &Engine{assets: assets, finder: finder}
}

// Write is one request that changes something.
type Write struct {
	Base     string // the path before the type in every href
	Type, ID string // of the path; no ID: a new asset
	Op       string // the operation to run; empty: none
	Context  string // Oid token that a new asset is made in the context of; may be empty
	Comment  string // kept as ChangeComment
	Key      string // the request is carried out once under it; empty: every time
	IfMoment int64  // the moment the asset must have; 0: any
	Body     []byte
}

// Write creates, updates or operates on one asset and returns it as it is
// afterwards: with its moment and the attributes that were sent. An operation
// that makes a new asset returns that one.
// Shape: {"_type":"Asset","href":…,"id":"Story:1001:1005","Attributes":{…}}
// Errors: fault.Invalid for what the rules refuse; fault.NotFound for an asset
// that is not there; fault.Conflict for a stale moment or a key used twice.
func (e *Engine) Write(ctx context.Context, who auth.Actor, w Write) ([]byte, error) {
	t, ok := e.assets.Model().Type(w.Type)
	if !ok {
		return nil, asset.UnknownType(w.Type)
	}
	c := &asset.Command{Verb: asset.Create, Type: t, Op: w.Op, IfMoment: w.IfMoment, Self: &asset.Handle{}}
	if w.Op == "" {
		var err error
		if c.Changes, err = decode(w.Body); err != nil {
			return nil, err
		}
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		if len(ch.Set) != 1 {
			continue
		}
		var err error
		if ch.Sealed, err = e.assets.Seal(ctx, ch.Name, ch.Set[0]); err != nil {
			return nil, err
		}
	}
	if w.Context != "" {
		o, err := oid.Parse(w.Context)
		if err != nil {
			return nil, err
		}
		c.Context = asset.Ref{OID: o, Token: w.Context}
	}
	sum := sha256.Sum256([]byte(w.Type + "/" + w.ID + "?" + w.Op + "&" + w.Context + "\n" + string(w.Body)))
	once := requests.Identity{Key: w.Key, Hash: hex.EncodeToString(sum[:])}
	req := asset.Request{ID: uuid.NewString(), Comment: w.Comment}
	return e.assets.Answer(ctx, who, req, once, func(s *asset.Session) ([]byte, error) {
		if w.ID != "" {
			if err := e.address(ctx, s, who, w, c); err != nil {
				return nil, err
			}
		}
		done, err := s.Run(ctx, []*asset.Command{c})
		switch {
		case err != nil:
			return nil, err
		case done[0].Err != nil:
			return nil, done[0].Err
		case done[0].Skipped:
			return nil, notFound()
		}
		return e.shown(ctx, s.Tx(), s.Who(), w.Base, done[0].Result, c.Changes)
	})
}

func notFound() error { return fault.NotFoundf("Not Found") }

// address turns the command into one on an asset that is there. A deleted one
// is not, but for operations meant for deleted ones.
func (e *Engine) address(ctx context.Context, s *asset.Session, who auth.Actor, w Write, c *asset.Command) error {
	c.Verb, c.Type, c.Self = asset.Update, nil, nil
	if w.Op != "" {
		c.Verb = asset.Operate
	}
	o, err := oid.Parse(w.Type + ":" + w.ID)
	if err != nil {
		return notFound()
	}
	known, err := e.assets.Lookup(ctx, s.Tx(), who, []oid.OID{o})
	if err != nil {
		return err
	}
	k, ok := known[o]
	if !ok || k.Deleted && !e.revives(k.OID, w.Op) {
		return notFound()
	}
	c.Target = asset.Ref{OID: k.OID}
	return nil
}

// revives reports whether an operation is for deleted assets.
func (e *Engine) revives(o oid.OID, name string) bool {
	t, ok := e.assets.Model().Type(o.Type)
	if !ok {
		return false
	}
	op, ok := t.Op(name)
	return ok && slices.Contains(op.Effect.From, meta.StateDeleted)
}

// shown answers with the asset, and of its attributes with those sent.
func (e *Engine) shown(ctx context.Context, q db.Querier, who auth.Actor, base string, o oid.OID, sent []asset.Change) ([]byte, error) {
	r := query.Request{From: query.Text{Text: o.String()}, One: true}
	t, _ := e.assets.Model().Type(o.Type)
	for _, ch := range sent {
		if a, ok := t.Attr(ch.Name); ok && a.Place.Kind != meta.Secret {
			r.Select = append(r.Select, query.Item{Text: query.Text{Text: ch.Name}})
		}
	}
	if len(r.Select) > 0 {
		answer, err := e.finder.Assets(ctx, q, who, r, base, nil)
		if fault.KindOf(err) != fault.NotFound { // moved to where the caller does not read
			return answer, err
		}
	}
	b := value.AppendString([]byte(`{"_type":"Asset","href":`), href(base, o))
	b = append(o.Append(append(b, `,"id":"`...)), '"')
	return append(b, `,"Attributes":{}}`...), nil
}

func href(base string, o oid.OID) string {
	return base + "/" + strings.ReplaceAll(o.String(), ":", "/")
}
