package app

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/doc"
)

// news says that there is something new, however often it is said before somebody
// listens.
type news chan struct{}

func newNews() news { return make(news, 1) }

// tell never waits.
func (n news) tell() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// describeModels describes each model that comes into use before a client asks for
// it: as JSON, then as XML. Of several that follow each other only the newest one is
// described, and nothing waits for it.
func (s *service) describeModels(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.newModel:
		}
		e := s.present.Load()
		s.describeModel(e, doc.JSON)
		if s.present.Load() == e { // the JSON of a newer model comes first
			s.describeModel(e, doc.XML)
		}
	}
}

func (s *service) describeModel(e *engines, f doc.Format) {
	began := time.Now()
	d := s.api.DescribeModel(e.served, f)
	s.log.Debug("the model is described", "generation", e.generation, "format", f.String(), "etag", d.Tag, "bytes", len(d.Body), "duration_ms", time.Since(began).Milliseconds())
}
