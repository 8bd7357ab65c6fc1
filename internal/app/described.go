package app

import (
	"context"
	"time"
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
// it. Of several that follow each other only the newest one is described, and
// nothing waits for it.
func (s *service) describeModels(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.newModel:
		}
		e, began := s.present.Load(), time.Now()
		d := s.api.DescribeModel(e.served)
		s.log.Debug("the model is described", "generation", e.generation, "etag", d.Tag, "bytes", len(d.JSON), "ms", time.Since(began).Milliseconds())
	}
}
