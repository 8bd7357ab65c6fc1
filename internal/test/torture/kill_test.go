package torture

import "time"

// nodeIsKilled kills a node under load, and starts it again. Where all nodes take writes
// it is that of the second api, which goes on once the node is back; else it is the one
// that all write to, and they go on at another one.
func nodeIsKilled(s *site) {
	s.t.Helper()
	victim := 1
	if len(s.proxies) > 0 {
		victim = s.cluster.Writer()
	}
	watch := (victim + 1) % len(s.cluster.Nodes)
	s.lookAt(watch)
	l := startLoad(s)
	l.goesOn(0, 1)
	at := time.Now()
	s.cluster.Nodes[victim].Kill()
	if len(s.proxies) > 0 {
		s.proxies[0].forward(s.cluster.Nodes[s.cluster.Writer()])
		s.t.Logf("another node takes writes after %s", time.Since(at).Round(time.Millisecond))
	}
	l.goesOn(0) // the other api waits for its node, where all nodes take writes
	at = time.Now()
	s.cluster.Nodes[victim].Start()
	s.t.Logf("the node has joined again after %s", time.Since(at).Round(time.Millisecond))
	for i := range apis { // both carry out what is sent to them now
		a := s.patiently(i, "/api/asset", "", object{"AssetType": "Story", "Name": "afterwards", "Scope": "Scope:0"})
		if !a.done() {
			s.t.Errorf("api %d, after the node has come back: %d: %.300s", i+1, a.status, a.text)
		}
	}
	l.goesOn(0, 1)
	l.end()
	s.settle()
	l.judge()
}
