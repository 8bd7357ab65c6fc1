package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The parts of the data that do not depend on -stories.
const (
	members  = 200
	teamSize = 9
	inOneAsk = 1000 // stories in one request, in a load and in a bulk creation
	gap      = 1024 // difference between the positions of two neighboring stories
)

// statuses are the story statuses that alds has from the start. The peers get the same statuses.
var statuses = []string{"Future", "In Progress", "Done", "Accepted"}

// data has the assets that every side stores. A relation to another asset is an index into the
// list of those assets.
type data struct {
	projects []string // the last project is empty and gets the stories that the bench creates
	members  []string
	stories  []story // in the order of creation
	of       [][]int // for each project, the indexes of its stories in the order of position
}

// story is a story on any side. Estimate 0 means no estimate.
type story struct {
	name, description string
	estimate          int
	project, status   int
	owners            []int
	position          int
	before            int // the story before which it was moved; -1: not moved
}

// newData returns n stories, which are always the same for the same n. Projects have four
// sizes and are filled one after another, but each project begins before the previous project is
// complete. Old stories are nearly all accepted. Some members own many more stories than others,
// and some words occur more often in names. One story in twenty-five was moved before an older
// story.
func newData(n int) *data {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	d := &data{}
	for i := range members {
		d.members = append(d.members, fmt.Sprintf("Member %d", i))
	}
	sizes := slices.Concat(slices.Repeat([]int{n / 50}, 20), slices.Repeat([]int{n / 10}, 2), slices.Repeat([]int{n / 20}, 4), slices.Repeat([]int{n / 200}, 40))
	random.Shuffle(len(sizes), func(i, k int) { sizes[i], sizes[k] = sizes[k], sizes[i] })
	type turn struct {
		project int
		at      float64
	}
	var turns []turn
	for p, size := range sizes {
		d.projects = append(d.projects, fmt.Sprintf("Project %d", p))
		begin := float64(len(turns))
		for k := range size {
			turns = append(turns, turn{p, begin + 1.3*float64(k)})
		}
	}
	d.projects = append(d.projects, "Inbox")
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	teams := make([][]int, len(sizes))
	for i, t := range turns {
		if teams[t.project] == nil {
			teams[t.project] = team(random)
		}
		d.stories = append(d.stories, newStory(random, i, t.project, float64(i)/float64(n), teams[t.project]))
	}
	d.move(random)
	d.sort()
	return d
}

// skewed returns a random index below n. Lower indexes are more frequent.
func skewed(random *rand.Rand, n int) int {
	u := random.Float64()
	return int(float64(n) * u * u)
}

func team(random *rand.Rand) []int {
	var all []int
	for len(all) < teamSize {
		if m := skewed(random, members); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

var (
	verbs = strings.Fields("Show Change Send Print Find Export Check Cancel Copy Merge Approve Archive")
	nouns = strings.Fields(`invoice order basket receipt account address delivery return voucher catalogue payment refund
		contract discount stock supplier shelf parcel reminder forecast warranty auction gazebo zeppelin`)
)

const sentence = "As a member of the team I want to see at once what has become of it, so that nobody has to ask twice and no customer waits for an answer. "

func newStory(random *rand.Rand, i, project int, age float64, team []int) story {
	name := fmt.Sprintf("%s the %s of a %s, case %d", verbs[skewed(random, len(verbs))], nouns[skewed(random, len(nouns))], nouns[skewed(random, len(nouns))], i)
	s := story{name: name, project: project, position: (i + 1) * gap, before: -1}
	s.description = strings.Repeat(sentence, 1+random.IntN(3))
	s.estimate = []int{0, 1, 1, 2, 2, 3, 3, 5, 8, 13}[random.IntN(10)]
	share := [...]int{7, 1, 6, 86} // weights of the statuses, in percent
	if age >= 0.85 {
		share = [...]int{35, 15, 15, 35}
	}
	for at := random.IntN(100) - share[0]; at >= 0; at -= share[s.status] {
		s.status++
	}
	count := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3}[random.IntN(20)]
	for len(s.owners) < count {
		if m := team[skewed(random, len(team))]; !slices.Contains(s.owners, m) {
			s.owners = append(s.owners, m)
		}
	}
	return s
}

// move gives one story in twenty-five a position just before an older story of its project.
// The older story is in an earlier request of the load.
func (d *data) move(random *rand.Rand) {
	older := make([][]int, len(d.projects))
	added := 0
	for i := range d.stories {
		for ; added < i/inOneAsk*inOneAsk; added++ {
			if s := d.stories[added]; s.before < 0 {
				older[s.project] = append(older[s.project], added)
			}
		}
		s := &d.stories[i]
		if choice := older[s.project]; i%25 == 0 && len(choice) > 0 {
			at := random.IntN(len(choice))
			s.before = choice[at]
			s.position = d.stories[s.before].position - gap/2
			older[s.project] = slices.Delete(choice, at, at+1) // each position is used only once
		}
	}
}

func (d *data) sort() {
	d.of = make([][]int, len(d.projects))
	for i, s := range d.stories {
		d.of[s.project] = append(d.of[s.project], i)
	}
	for _, list := range d.of {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(d.stories[a].position, d.stories[b].position) })
	}
}

func (d *data) inbox() int { return len(d.projects) - 1 }

// made returns the nth story that the bench creates.
func (d *data) made(n int) story {
	return story{
		name: fmt.Sprintf("Made while others read, number %d", n), description: sentence, estimate: 1 + n%13,
		project: d.inbox(), status: n % len(statuses), owners: []int{n % members}, position: (len(d.stories) + n + 1) * gap, before: -1,
	}
}

// many returns the stories made(first) to made(first+n-1).
func (d *data) many(first, n int) []story {
	all := make([]story, n)
	for i := range all {
		all[i] = d.made(first + i)
	}
	return all
}
