package torture

import "time"

// nodeIsKilled kills a node under load and starts it again. If all nodes accept writes, it kills the node
// of the second api, which must work again when the node is back. Otherwise it kills the node that accepts
// writes, and both apis must continue with another node.
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
	l.goesOn(0) // if all nodes accept writes, the second api waits for its node
	at = time.Now()
	s.cluster.Nodes[victim].Start()
	s.t.Logf("the node has joined again after %s", time.Since(at).Round(time.Millisecond))
	for i := range apis { // now both apis must execute new requests
		a := s.patiently(i, "/api/asset", object{"AssetType": "Story", "Name": "afterwards", "Scope": "Scope:0"})
		if !a.done() {
			s.t.Errorf("api %d, after the node has come back: %d: %.300s", i+1, a.status, a.text)
		}
	}
	l.goesOn(0, 1)
	l.end()
	s.settle()
	l.judge()
}
