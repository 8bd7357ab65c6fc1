package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const metricsToken = "the-token-of-a-monitoring-system-0123456789"

// TestMetricsFlood guesses the token of /metrics, and asks with one that has leaked as
// often as it can: nobody else waits, monitoring from elsewhere goes on, and no attempt
// is logged.
func TestMetricsFlood(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_METRICS_TOKEN=" + metricsToken, "ALDS_LOG_LEVEL=info"}}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		near, far := from("127.0.0.1"), from(attacker)
		stop := make(chan struct{})
		var flood sync.WaitGroup
		var seen, leaked tally
		for i := range 60 {
			flood.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if i%3 == 0 {
						leaked.add(s.scrape(t.Context(), far, metricsToken))
					} else {
						seen.add(s.scrape(t.Context(), far, fmt.Sprintf("%s%d-%d", metricsToken[:30], i, n)))
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		}
		o.during(t, 256*mib, func() {
			for range 10 {
				if status := s.scrape(t.Context(), near, metricsToken); status != http.StatusOK {
					t.Errorf("monitoring is answered %d", status)
				}
				time.Sleep(200 * time.Millisecond)
			}
		})
		close(stop)
		flood.Wait()
		near.CloseIdleConnections()
		far.CloseIdleConnections()
		seen.only(t, http.StatusUnauthorized)
		leaked.only(t, http.StatusOK, http.StatusServiceUnavailable)
		if log := s.log.String(); strings.Contains(log, metricsToken[:30]) || !strings.Contains(log, `"path":"/metrics"`) {
			t.Error("the log has a part of the token, or nothing of the flood")
		}
	})
}

// scrape asks for metrics with a token and returns the status; 0: no answer.
func (s *site) scrape(ctx context.Context, c *http.Client, token string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/metrics", nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusOK && !strings.Contains(string(body), "alds_app_build_info{") {
		return 0
	}
	return res.StatusCode
}
