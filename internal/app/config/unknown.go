package config

import (
	"slices"
	"strings"
)

const (
	prefix     = "ALDS_"
	testPrefix = prefix + "TEST_" // for tests, which read these variables themselves
)

// Unknown is an environment variable that looks like a setting but is not one.
type Unknown struct {
	Name    string
	Nearest string // the setting that was probably meant; empty: no setting has a similar name
}

// UnknownNames returns the sorted names that begin like settings but are not settings. Such names
// are not errors, since platforms also set variables.
func UnknownNames(names []string) (all []Unknown) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		upper := strings.ToUpper(name)
		if !strings.HasPrefix(upper, prefix) || strings.HasPrefix(upper, testPrefix) {
			continue
		}
		if nearest, distance := nearestSetting(upper); distance > 0 || nearest != name {
			if distance > (len(name)-len(prefix))/3 {
				nearest = ""
			}
			all = append(all, Unknown{name, nearest})
		}
	}
	return all
}

// nearestSetting returns the setting with the smallest edit distance to name, and that distance.
func nearestSetting(name string) (nearest string, distance int) {
	distance = len(name) + 1
	for _, s := range Settings() {
		if d := editDistance(name, s.Name); d < distance {
			nearest, distance = s.Name, d
		}
	}
	return nearest, distance
}

// editDistance returns how many bytes must be inserted, removed or replaced to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance between the current prefix of a and b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
