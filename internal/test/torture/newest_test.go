package torture

import (
	"bytes"
	"sync"
	count "sync/atomic"
	"time"
)

// newest creates a story through one api. Immediately afterwards, a write through the other api names the
// story as a parent or as the asset to change. The other node may not have the story yet, and should then
// not answer that it does not exist. Less than one percent of the writes may get this answer.
func newest(s *site) {
	atLeast, during, _ := much()
	during = max(during, lasting())
	var tried, missed, others count.Int64
	var wait sync.WaitGroup
	began := time.Now()
	for n := range writers {
		wait.Go(func() {
			for k := n; tried.Load() < int64(atLeast) || time.Since(began) < during; k++ {
				made := s.patiently(k%apis, "/api/asset", object{"AssetType": "Story", "Name": "Story", "Scope": "Scope:0"})
				if !made.done() {
					others.Add(1)
					continue
				}
				story := made.bulk.AssetsCreated.OIDTokens[0]
				command := object{"AssetType": "Task", "Name": "Task", "Parent": story}
				if k/apis%2 == 0 {
					command = change(story, object{"Name": "changed"})
				}
				tried.Add(1)
				switch a := s.patiently(1-k%apis, "/api/asset", command); {
				case bytes.Contains(a.text, []byte("Invalid")):
					if missed.Add(1) <= shown {
						s.t.Logf("%v: %d: %.300s", command, a.status, a.text)
					}
				case !a.done():
					others.Add(1)
				}
			}
		})
	}
	wait.Wait()
	s.t.Logf("of %d writes that name what another node has just made %d did not find it; in %s", tried.Load(), missed.Load(), time.Since(began).Round(time.Millisecond))
	if missed.Load()*100 >= tried.Load() {
		s.t.Errorf("%d of %d writes did not find what another node has just made", missed.Load(), tried.Load())
	}
	s.wrong(int(others.Load()), "writes were refused")
}
