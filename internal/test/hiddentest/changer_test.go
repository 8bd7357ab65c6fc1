package hiddentest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// changer changes hidden assets between the requests, differently in the two services.
type changer struct {
	p      *pair
	hiders [2]*hider
	n      int
}

func newChanger(p *pair) *changer {
	c := &changer{p: p}
	for i := range c.hiders {
		h := newHider(i + 1)
		c.hiders[i] = h
		for label, o := range p.services[i].oids {
			if strings.HasPrefix(label, "hidden") || label == "vault" {
				t := typeOf(o).Name
				h.byType[t] = append(h.byType[t], label)
			}
		}
		for _, labels := range h.byType {
			slices.Sort(labels)
		}
	}
	return c
}

// change either creates a hidden asset in both services, or makes a different random change in each. Then
// it sets the sequences of both services to the same values.
func (c *changer) change() {
	c.p.t.Helper()
	c.n++
	typ := strings.Fields("Story Issue Note Expression Defect ChangeSet")[c.n%6]
	creates := c.n%3 == 0
	c.p.both(func(i int, s *service) error {
		script := &script{s: s}
		h := c.hiders[i]
		if creates {
			script.create("x", typ, c.fresh(script, h, typ))
		} else {
			c.alter(script, h)
		}
		r, err := s.send("admin", &request{method: "POST", path: "/api/asset", body: text(script.commands)})
		if err == nil && (r.status != http.StatusOK || creates && len(r.created()) == 0) {
			err = fmt.Errorf("%s: %s", text(script.commands), r.body)
		}
		return err // commands may fail, because a caller may have deleted the asset
	})
	c.level()
}

// level sets each sequence in both services to the higher of its two values.
func (c *changer) level() {
	c.p.t.Helper()
	one, two := c.p.services[0].sequences(c.p.t), c.p.services[1].sequences(c.p.t)
	for name, value := range one {
		switch other := two[name]; {
		case value > other:
			c.p.services[1].raise(c.p.t, name, value)
		case value < other:
			c.p.services[0].raise(c.p.t, name, other)
		}
	}
}

// fresh returns the attributes of a new hidden asset.
func (c *changer) fresh(p *script, h *hider, typ string) attrs {
	switch typ {
	case "Note":
		return attrs{"Name": h.word(), "Content": h.word(), "Asset": h.must(p, "Epic"), "Personal": h.IntN(2) == 0}
	case "Expression":
		return attrs{"Content": h.word(), "Mentions": []any{h.must(p, "Story")}, "Author": h.must(p, "Member")}
	case "ChangeSet":
		return attrs{"Name": h.word(), "PrimaryWorkitems": []any{h.must(p, "Story")}}
	}
	return h.workitem(p, typ)
}

// alter adds a command to the script that changes a hidden asset at random.
func (c *changer) alter(p *script, h *hider) {
	some := func(typ string) string { return h.must(p, typ).(string) }
	switch h.IntN(10) {
	case 0:
		p.update(some("Member"), attrs{"Name": h.word(), "Nickname": h.word()})
	case 1:
		p.update(some("Scope"), attrs{"Name": h.word()})
	case 2:
		p.update(some("Issue"), attrs{"BlockedPrimaryWorkitems": attrs{h.oneOf("add remove"): []any{p.of("story1")}}})
	case 3:
		p.update(some("Story"), attrs{"Owners": attrs{h.oneOf("add remove"): []any{p.of("lee"), p.of("pal")}}, "Estimate": h.IntN(99)})
	case 4:
		p.update(some("Story"), attrs{"Super": p.of("epic1"), "Dependencies": []any{p.of("story2")}})
	case 5:
		p.update(some("Defect"), attrs{"TaggedWith": []any{h.word()}, "Scope": some("Scope")})
	case 6:
		p.run(some("Scope"), "AssignMemberWithRole", attrs{"Member": p.of("lee"), "Role": h.oneOf("Role:0 Role:10"), "IsOwner": false})
	case 7:
		p.update(some("Expression"), attrs{"Content": h.word(), "Mentions": []any{some("Story")}})
	case 8:
		p.update(some("Epic"), attrs{"Name": h.word(), "Super": ""})
	default:
		p.commands = append(p.commands, attrs{"from": some("Request"), "where": attrs{"AssetState": "Active"}, "execute": h.oneOf("Delete Inactivate")})
	}
}
