package torture

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// oneKey sends the same request with one key through both apis at the same time. The request must be
// executed once, and both answers must be equal.
func oneKey(s *site) {
	differ, others := 0, 0
	name := func(k int) string { return fmt.Sprintf("Story of key %d", k) }
	tried := rounds(most(), func(k int) {
		var got [apis]answer
		both(func(i int) {
			got[i] = s.underKey(i, fmt.Sprint("key-", k), object{"AssetType": "Story", "Name": name(k), "Scope": "Scope:0"})
		})
		for _, a := range got {
			if !a.done() {
				if others++; others > shown {
					continue
				}
				s.t.Logf("key %d: %d: %.300s", k, a.status, a.text)
			}
		}
		if !bytes.Equal(got[0].text, got[1].text) {
			differ++
		}
	})
	s.settle()
	times := map[string]int{}
	for _, row := range read[struct{ Name string }](s, 0, object{"from": "Story", "select": []string{"Name"}}) {
		times[row.Name]++
	}
	twice, missing := 0, 0
	for k := range tried {
		switch n := times[name(k)]; {
		case n > 1:
			twice++
		case n == 0:
			missing++
		}
	}
	s.t.Logf("of %d keys %d were done twice, %d never, %d got two answers", tried, twice, missing, differ)
	s.wrong(twice, "of %d requests with a key were done twice", tried)
	s.wrong(missing, "of %d requests with a key were never done", tried)
	s.wrong(differ, "of %d requests with a key got two answers", tried)
	s.wrong(others, "answers to requests with a key are neither 200 nor ask to send them again")
}

// underKey sends a request with a key. It repeats the request while there is no answer, for 503, and for
// 409 while the first request still runs.
func (s *site) underKey(i int, key string, body any) answer {
	return s.underKeyAt(i, "/api/asset", key, body)
}

func (s *site) underKeyAt(i int, path, key string, body any) (a answer) {
	for until := time.Now().Add(quietIn); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		a = s.send(i, path, key, body)
		if a.status == http.StatusConflict && !bytes.Contains(a.text, []byte("still running")) || !a.later() {
			break
		}
	}
	return a
}

// oneName gives two new assets the same unique name, through both apis at the same time. Exactly one of
// them must get the name. The names are usernames, which may differ in case, and names of custom
// attributes.
func oneName(s *site) {
	two, none := 0, 0
	tried := rounds(most(), func(k int) {
		names := [apis]string{fmt.Sprint("member-", k), fmt.Sprint("MEMBER-", k)}
		command := func(i int) object {
			return object{"AssetType": "Member", "Name": "M", "Nickname": fmt.Sprint("m", k), "Username": names[i], "DefaultRole": "Role:4"}
		}
		if k%10 == 9 { // rare, because all processes then load the model again
			command = func(int) object {
				return object{"AssetType": "AttributeDefinition", "Name": fmt.Sprint("Custom_A", k), "Asset": "Story", "AttributeType": "Numeric"}
			}
		}
		var made [apis]bool
		both(func(i int) { made[i] = s.patiently(i, "/api/asset", command(i)).done() })
		switch {
		case made[0] && made[1]:
			two++
		case !made[0] && !made[1]:
			none++
		}
	})
	s.settle()
	names := map[string]bool{}
	twice := 0
	for _, row := range s.links(`SELECT CAST(type AS CHAR), LOWER(name_of) FROM (SELECT type, id, name AS name_of FROM asset WHERE name LIKE 'Custom\_A%') a`) {
		if names[row[1]] {
			twice++
		}
		names[row[1]] = true
	}
	for _, row := range read[struct{ Username string }](s, 0, object{"from": "Member", "select": []string{"Username"}}) {
		name := string(bytes.ToLower([]byte(row.Username)))
		if names[name] {
			twice++
		}
		names[name] = true
	}
	s.t.Logf("of %d names %d were given twice, %d never; %d are there twice", tried, two, none, twice)
	s.wrong(two, "of %d names were given twice", tried)
	s.wrong(none, "of %d names were never given", tried)
	s.wrong(twice, "names are there twice")
}
