package app

import "fmt"

// welcome returns the text that standalone prints at its start: the URL of the pages, and requests
// that a new user can copy.
func (s *service) welcome(base string) string {
	password := defaultPassword
	if !s.cfg.HasDefaultPassword() {
		password = "$ALDS_ADMIN_PASSWORD"
	}
	return fmt.Sprintf(`
alds runs at %[1]s and keeps its data in %[2]s. Open it in a browser and sign in
as %[3]s with the password %[4]s, or try it in another terminal:

  curl -u %[3]s:%[4]s %[1]s/api/asset -H 'Content-Type: application/json' -d '
    {"AssetType": "Scope", "Name": "My project", "Parent": "Scope:0", "BeginDate": "2026-01-01",
     "Workitems": [{"AssetType": "Story", "Name": "My first story", "Estimate": 3}]}'

  curl -u %[3]s:%[4]s %[1]s/query.v1 -d '{"from": "Story", "select": ["Name", "Number", "Scope.Name"]}'

Stop it with Ctrl-C. It keeps its data for the next start.

`, base, s.cfg.DataDir, adminUsername, password)
}
