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

// patience is the value of Patience in a new Service. A request may take longer, because it
// measures the time only after each batch. Reading a batch takes longer if the parts that refer to
// the asset by relations have more versions.
var patience = 500 * time.Millisecond

// ForTests makes the new services of this process so patient that their answers do not depend on how busy
// the machine is.
func ForTests() { patience = time.Hour }

// Finder runs queries, and returns which assets and versions a member sees.
type Finder interface {
	IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error)
	Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error)
	Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string, with map[string][]string, at []oid.OID) ([]bool, error)
}

// Service reads streams. It is safe for concurrent use. Its fields must not be changed after the
// first use.
type Service struct {
	// MaxAnswer is the maximum number of bytes of an answer; 0: no limit.
	MaxAnswer int64
	// Patience limits how long a request continues while it finds only changes that it does not
	// show. Each request examines at least one batch of changes.
	Patience time.Duration

	db     *db.DB
	model  *meta.Model
	finder Finder
	differ *change.Differ
	loader *change.Loader
	wholes map[*meta.Type]*whole
	sights map[*meta.Type]*memfilter.Filter
	person person
	list   *meta.Type // the type List, from which all types of list values are derived
}

// New returns a service for a database. The finder must use the same model.
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

// Stream returns a part of the stream of an asset. The part contains only what the actor may see.
// Example of a body:
//
//	[{"body":{"actor":{…},"verb":"Updated","object":{…},"time":"…","summary":"…",
//	"provider":{"stream":"Story:1003","commitSeq":1265,"commitId":"…"},"target":[…]}}]
//
// The error has the kind fault.Invalid for an invalid parameter. It is fault.NotFound if the asset
// does not exist, is deleted or is not visible. If there is too little memory, it is
// fault.Transient or fault.Invalid.
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

// root returns the description of the requested stream.
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
