package app

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/document"
)

// news signals that there is something new. Several signals before a receive count as one.
type news chan struct{}

// tell sends a signal. It never waits.
func (n news) tell() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// describeModels prepares the description of each new model before a client asks for it: first as
// JSON, then as XML. If several models follow each other quickly, it describes only the newest one.
// Requests do not wait for describeModels.
func (s *service) describeModels(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.newModel:
		}
		e := s.present.Load()
		s.describeModel(e, document.JSON)
		if s.present.Load() == e { // otherwise the JSON of the newer model comes first
			s.describeModel(e, document.XML)
		}
	}
}

func (s *service) describeModel(e *engines, f document.Format) {
	began := time.Now()
	d := s.api.DescribeModel(e.served, f)
	s.Log.Debug("the model is described", "generation", e.generation, "format", f.String(), "etag", d.Tag, "bytes", len(d.Body), "duration_ms", time.Since(began).Milliseconds())
}
