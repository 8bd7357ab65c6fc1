package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const metricsToken = "the-token-of-a-monitoring-system-0123456789"

// TestMetricsFlood guesses the token of /metrics, and also sends the right token as often as possible, as
// if it had leaked. Other clients must not wait, and monitoring from another address must still get
// answers. The server must build only a few answers at a time. The log must not contain the token.
func TestMetricsFlood(t *testing.T) {
	settings := []string{"ALDS_METRICS_TOKEN=" + metricsToken, "ALDS_LOG_LEVEL=info"}
	onEach(t, setup{settings: settings, short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		near, far := from("127.0.0.1"), from(attacker)
		var seen, leaked tally
		o.during(t, attack{
			memory: 256 * mib, lasts: 2 * time.Second, most: metrics{memoryTaken: scrapes * mib},
			run: func(ctx context.Context, on func()) {
				wait := flood(ctx, 60, 50*time.Millisecond, func(i, n int) {
					if i%3 == 0 {
						for range 5 {
							leaked.add(s.scrape(t.Context(), far, metricsToken))
						}
						return
					}
					seen.add(s.scrape(t.Context(), far, fmt.Sprintf("%s%d-%d", metricsToken[:30], i, n)))
				})
				seen.becomes(t, 40)
				leaked.becomes(t, 1)
				on()
				for range depth(3, 10) {
					if status := s.scrape(t.Context(), near, metricsToken); status != http.StatusOK {
						t.Errorf("monitoring is answered %d", status)
					}
				}
				wait()
			},
		})
		near.CloseIdleConnections()
		far.CloseIdleConnections()
		seen.only(t, http.StatusUnauthorized)
		leaked.only(t, http.StatusOK, http.StatusServiceUnavailable)
		if log := s.log.String(); strings.Contains(log, metricsToken[:30]) || !strings.Contains(log, `"path":"/metrics"`) {
			t.Error("the log has a part of the token, or nothing of the flood")
		}
	})
}

// scrapes is the memory in MiB that requests may use during the flood. Twenty clients send the right token,
// but the server builds at most two answers of /metrics at a time, and counts one MiB for each. The other
// two MiB are for the reads of the second member.
const scrapes = 4

// scrape requests /metrics with a token and returns the status; 0: no answer.
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
