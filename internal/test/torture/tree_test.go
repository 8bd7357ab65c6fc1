package torture

import "fmt"

// most returns how many pairs or assets a case prepares before it begins. The case ends early if it has
// used all of them.
func most() int { return max(100, int(lasting().Seconds()*60)) }

// opposingMoves moves each of two projects below the other, at the same time through two apis. Exactly one
// of the two moves must succeed.
func opposingMoves(s *site) {
	t, n := s.t, most()
	all := s.projects(2 * n)
	s.settle()
	pair := func(k, i int) string { return all[2*k+i] }
	accepted := make([][apis]bool, n)
	tried := rounds(n, func(k int) {
		both(func(i int) {
			accepted[k][i] = s.patiently(i, "/api/asset", change(pair(k, i), object{"Parent": pair(k, 1-i)})).done()
		})
	})
	s.settle()
	parents := map[string]string{}
	for _, row := range s.links(`SELECT CONCAT('Scope:', id), CONCAT('Scope:', parent_id) FROM asset WHERE parent_id IS NOT NULL AND id > 1000`) {
		parents[row[0]] = row[1]
	}
	cycles, neither, lost := 0, 0, 0
	for k := range tried {
		up := [apis]bool{}
		for i := range apis {
			up[i] = parents[pair(k, i)] == pair(k, 1-i)
			if accepted[k][i] && !up[i] {
				lost++
			}
		}
		switch {
		case up[0] && up[1]:
			cycles++
		case !up[0] && !up[1]:
			neither++
		}
	}
	t.Logf("%d of %d opposing moves make a cycle; of %d neither was done; %d accepted moves are not there", cycles, tried, neither, lost)
	s.wrong(cycles, "of %d opposing moves make a cycle", tried)
	s.wrong(neither, "of %d times neither move was done", tried)
	s.wrong(lost, "moves were accepted and are not there")
}

// links returns the rows of an SQL query that selects two texts.
func (s *site) links(query string) (all [][2]string) {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row [2]string
		if err := rows.Scan(&row[0], &row[1]); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// followers creates a task of a story through one api, while the story moves to another project through the
// other api. The task must end in the project of the story.
func followers(s *site) {
	t, n := s.t, most()
	projects := s.projects(2)
	commands := make([]any, n)
	for k := range commands {
		commands[k] = object{"AssetType": "Story", "Name": fmt.Sprint("Story ", k), "Scope": projects[0]}
	}
	stories := s.must(commands)
	s.settle()
	moved, made := 0, 0
	tried := rounds(n, func(k int) {
		both(func(i int) {
			if (i+k)%apis == 0 {
				if s.patiently(i, "/api/asset", change(stories[k], object{"Scope": projects[1]})).done() {
					moved++
				}
				return
			}
			if s.patiently(i, "/api/asset", object{"AssetType": "Task", "Name": "Task", "Parent": stories[k]}).done() {
				made++
			}
		})
	})
	s.settle()
	type oid struct {
		OID string `json:"_oid"`
	}
	type row struct {
		Scope oid
		Above oid `json:"Parent.Scope"`
	}
	strays := 0
	rows := read[row](s, 0, object{"from": "Task", "select": []string{"Scope", "Parent.Scope"}})
	for _, r := range rows {
		if r.Scope != r.Above {
			strays++
		}
	}
	t.Logf("%d of %d tasks are not in the project of their story; %d stories moved", strays, len(rows), moved)
	s.wrong(strays, "of %d tasks are not in the project of their story", len(rows))
	if moved != tried || made != tried || len(rows) != made {
		t.Errorf("of %d stories %d moved and got %d tasks, of which %d are there", tried, moved, made, len(rows))
	}
}
