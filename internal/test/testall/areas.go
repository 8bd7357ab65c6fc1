package main

import (
	"fmt"
	"slices"
	"strings"
)

// area is a group of packages that are tested together.
type area struct {
	name string
	// packages are folders below internal/. The entry "bench" stands for all folders below bench. If
	// packages is nil, the area has all packages that are in no other area.
	packages []string
	quick    bool // true: part of the quick tier; false: of the gate
	about    string
}

var areas = []area{
	{"units", nil, true, "each package by itself, on SQLite and, where they answer, MariaDB or MySQL and Redis"},
	{"spec", []string{"test/spectest"}, true, "the specification as text cases, and the examples of the documents"},
	{"rights", []string{"test/rightstest"}, false, "every role does everything everywhere"},
	{"random", []string{"test/difftest", "test/hiddentest", "test/modeltest"}, false, "random requests, compared with plain models"},
	{"attack", []string{"test/attack", "test/costtest"}, false, "processes that are attacked, and requests that cost too much"},
	{"faults", []string{"test/faulttest"}, false, "processes, databases and queues that are killed"},
	{"torture", []string{"test/torture"}, false, "several processes write to several nodes of one database"},
	{"pages", []string{"test/pagetest"}, false, "a browser opens the pages"},
	{"clients", []string{"test/clienttest"}, false, "clients in several languages, and the programs of examples/"},
	{"bench", []string{"bench"}, false, "the programs that measure, each run once on little data"},
	{"operate", []string{"test/deploytest", "test/doctest", "test/watchtest"}, false, "files for deployment, commands of the documents, proxies, alerts, dashboards, traces"},
}

const modulePath = "github.com/alds-dev/alds/"

// areaOf returns the area of a package of this repository.
func areaOf(pkg string) area {
	folder := strings.TrimPrefix(strings.TrimPrefix(pkg, modulePath), "internal/")
	if strings.HasPrefix(folder, "bench/") {
		folder = "bench"
	}
	for _, a := range areas {
		if slices.Contains(a.packages, folder) {
			return a
		}
	}
	return areas[0]
}

// tier says what one call of testall tests.
type tier struct {
	name  string
	short bool
	takes string // how long it takes on two processors; empty: unknown
	has   func(area) bool
}

// tierOf returns the tier that the first words of the arguments name. It also returns the remaining
// arguments.
func tierOf(args []string) (tier, []string, error) {
	quick := tier{"quick", true, "about 3 minutes, or 6 if nothing is compiled yet,", func(a area) bool { return a.quick }}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "./") {
		return quick, args, nil
	}
	word, rest := args[0], args[1:]
	switch word {
	case "quick":
		return quick, rest, nil
	case "gate":
		return tier{"gate", true, "about 6 minutes", func(a area) bool { return !a.quick }}, rest, nil
	case "long":
		all := tier{"long", false, "an hour or more", func(area) bool { return true }}
		if len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "./") {
			return all, rest, nil
		}
		name := rest[0]
		if !slices.ContainsFunc(areas, func(a area) bool { return a.name == name }) {
			return tier{}, nil, fmt.Errorf("there is no area %q; `go run ./internal/test/testall list` prints them", name)
		}
		return tier{"long " + name, false, "some minutes to an hour", func(a area) bool { return a.name == name }}, rest[1:], nil
	}
	return tier{}, nil, fmt.Errorf("unknown word %q; use quick, gate, long or list", word)
}

func printAreas() {
	for _, a := range areas {
		in := "gate"
		if a.quick {
			in = "quick"
		}
		fmt.Printf("%-8s  %-5s  %s\n", a.name, in, a.about)
		if len(a.packages) > 0 {
			fmt.Printf("                 %s\n", strings.Join(a.packages, ", "))
		}
	}
}
