package difftest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

// server is one database with the engines that use it.
type server struct {
	name   string
	d      *db.DB
	assets *asset.Engine // uses the model without custom attributes
	bulk   *bulk.Engine
	finder *find.Finder
}

func serve(t *testing.T, d *db.DB, m *meta.Model) *server {
	t.Helper()
	if err := seed.Run(t.Context(), d, meta.Default()); err != nil {
		t.Fatal(err)
	}
	s := &server{name: d.Dialect.Name, d: d, assets: asset.New(d, meta.Default(), nil, nil)}
	s.use(t, m)
	return s
}

// use makes the engines of the server use the model m.
func (s *server) use(t *testing.T, m *meta.Model) {
	t.Helper()
	generation, err := catalog.Generation(t.Context(), s.d)
	if err != nil {
		t.Fatal(err)
	}
	s.finder = find.New(s.d, m)
	s.bulk = bulk.New(s.assets.With(m, generation), s.finder)
}

// rows returns the answer of the engine to a query.
func (s *server) rows(who auth.Actor, body string) (string, error) {
	nodes, err := document.Parse([]byte(body), false)
	if err != nil {
		return "", err
	}
	r, err := query.FromDoc(&nodes[0])
	if err != nil {
		return "", err
	}
	b, err := s.finder.Rows(context.Background(), nil, who, r, nil)
	return string(b), err
}

// smallerPayload returns a smaller payload that also fails. It removes one command after another while the
// rest still fails. A failed request changes nothing, so it can be repeated.
func smallerPayload(s *server, body []byte) []byte {
	var commands []json.RawMessage
	must(json.Unmarshal(body, &commands))
	for i := len(commands) - 1; i >= 0; i-- {
		fewer, err := json.Marshal(without(commands, i))
		must(err)
		if _, err := s.bulk.Run(context.Background(), auth.System, bulk.Request{Body: fewer}); err != nil {
			commands, body = without(commands, i), fewer
		}
	}
	return body
}
