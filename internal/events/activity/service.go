package activity

import (
	"context"
	"net/url"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// patience is the Patience of a new Service. A statement costs more if the parts by relations
// have more versions.
const patience = 500 * time.Millisecond

// Finder runs queries, and returns which assets and versions an actor sees.
type Finder interface {
	IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error)
	Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error)
	Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string, with map[string][]string, at []oid.OID) ([]bool, error)
}

// Service reads streams. It must not change once it is in use, and is safe for concurrent use.
type Service struct {
	// MaxAnswer is how many bytes an answer may have; 0: no limit.
	MaxAnswer int64
	// Patience is how long a request continues if it finds changes that it does not show. It
	// examines at least one batch of changes.
	Patience time.Duration

	db     *db.DB
	model  *meta.Model
	finder Finder
	differ *change.Differ
	loader *change.Loader
	wholes map[*meta.Type]*whole
	sights map[*meta.Type]*memfilter.Filter
	person person
	list   *meta.Type // type of the values of all lists
}

// New returns the service for a database and a finder with the same model.
func New(d *db.DB, m *meta.Model, f Finder) *Service {
	differ := change.NewDiffer(m)
	s := &Service{
		Patience: patience,
		db:       d, model: m, finder: f, differ: differ, loader: change.NewLoader(differ),
		wholes: wholesOf(m), sights: map[*meta.Type]*memfilter.Filter{}, person: personOf(m),
	}
	s.list, _ = m.Type("List")
	for _, t := range m.Types {
		if !t.Abstract {
			s.sights[t] = memfilter.New(m, t, nil, nil, true)
		}
	}
	return s
}

// Answer is a part of a stream.
type Answer struct {
	Body []byte
	// Next is the commitSeq after which the stream continues; 0 at the end of the stream.
	Next int64
}

// Stream returns a part of the stream of an asset, as who may see it.
// Shape: [{"body":{"actor":{…},"verb":"Updated","object":{…},"time":"…","summary":"…",
// "provider":{"stream":"Story:1003","commitSeq":1265,"commitId":"…"},"target":[…]}}]
// Errors: fault.Invalid for a parameter; NotFound for an asset that does not exist, is deleted
// or is not visible; Transient and Invalid if there is too little memory.
// Spec: interface 4.5.
func (s *Service) Stream(ctx context.Context, who auth.Actor, r Request) (Answer, error) {
	a, err := r.read()
	if err != nil {
		return Answer{}, err
	}
	var out Answer
	err = s.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		root, err := s.root(ctx, tx, who, &a)
		if err != nil {
			return err
		}
		x := s.newReader(ctx, tx, who, &a, root)
		defer x.release()
		out, err = x.read(ctx)
		return err
	})
	return out, err
}

// root returns the whole of the requested stream.
func (s *Service) root(ctx context.Context, tx *db.Tx, who auth.Actor, a *ask) (*whole, error) {
	params := url.Values{"sel": {""}}
	if a.deleted {
		params.Set("where", "IsDeleted='true'|IsDeleted='false'")
	}
	r, err := query.FromParams(query.AddressOf(a.oid.Now().String()), params)
	if err != nil {
		return nil, err
	}
	list, err := s.finder.IDs(ctx, tx, who, r)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fault.NotFoundf("Not Found")
	}
	t, ok := s.model.Type(list[0].Type)
	if !ok {
		return nil, oid.Invalid(list[0].String())
	}
	root := *s.wholes[t]
	root.id = t.Stored(list[0].ID)
	return &root, nil
}
