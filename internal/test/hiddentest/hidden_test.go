package hiddentest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// hider creates the hidden assets of one of the two services.
type hider struct {
	*rand.Rand
	byType map[string][]string // labels of hidden assets, by type
	told   []string            // words that were used
	n      int
}

func newHider(variant int) *hider {
	return &hider{Rand: rand.New(rand.NewPCG(uint64(variant), 77)), byType: map[string][]string{}}
}

// word returns a new random word, which only this service uses.
func (h *hider) word() string {
	var b strings.Builder
	for range 2 + h.IntN(3) {
		b.WriteString([]string{"Zir", "kon", "Qua", "dro", "Yam", "Vex", "ilu", "Oph", "nax"}[h.IntN(9)])
	}
	h.n++
	w := fmt.Sprintf("%s%d", b.String(), h.n*100+h.IntN(100))
	h.told = append(h.told, w)
	return w
}

// oneOf returns a random word of the text.
func (h *hider) oneOf(text string) string {
	all := strings.Fields(text)
	return all[h.IntN(len(all))]
}

// some returns a random hidden asset of a type, or nil. Method create leaves out attributes that are nil.
func (h *hider) some(p *script, typ string) any {
	all := h.byType[typ]
	if len(all) == 0 || h.IntN(3) == 0 {
		return nil
	}
	return p.of(all[h.IntN(len(all))])
}

// make creates a hidden asset. Its CreateDate is before 2021. So blank does not replace it, and the
// comparison would find it in a reply.
func (h *hider) make(p *script, typ string, values attrs) string {
	label := fmt.Sprintf("hidden%s%d", typ, len(h.byType[typ]))
	at := fmt.Sprintf("%d-%02d-%02dT01:02:03.%03d", 2001+h.IntN(20), 1+h.IntN(12), 1+h.IntN(28), h.IntN(1000))
	values["CreateDate"] = at
	h.byType[typ] = append(h.byType[typ], label)
	return p.create(label, typ, values)
}

// around creates the hidden assets that are older than all visible assets: projects, members who are in no
// other project, and assets of all kinds. The two services get different numbers of these assets. It does
// not create conversations, because everybody sees a conversation that mentions nothing.
func around(p *script, h *hider) {
	p.create("vault", "Scope", attrs{"Name": h.word(), "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	h.byType["Scope"] = []string{"vault"}
	for range h.IntN(3) {
		h.make(p, "Scope", attrs{"Name": h.word(), "Parent": "@vault", "BeginDate": "2026-01-01"})
	}
	for range 1 + h.IntN(4) {
		ghost := h.make(p, "Member", attrs{"Name": h.word(), "Nickname": h.word(), "Username": h.word(), "Email": h.word() + "@example.com", "DefaultRole": "Role:4"})
		p.run("@vault", "AssignMemberWithRole", attrs{"Member": ghost, "Role": "Role:4", "IsOwner": h.IntN(2) == 0})
	}
	for _, typ := range strings.Fields("Epic Theme Goal Story Story Defect Issue Request Retrospective Environment RegressionPlan RegressionTest") {
		for range 2 + h.IntN(4) {
			h.make(p, typ, h.workitem(p, typ))
		}
	}
	for range 2 + h.IntN(4) {
		h.make(p, "Task", attrs{"Name": h.word(), "Parent": h.must(p, "Story"), "ToDo": h.IntN(9), "Owners": h.some(p, "Member")})
		h.make(p, "Test", attrs{"Name": h.word(), "Parent": h.must(p, "Defect")})
		h.make(p, "Link", attrs{"Name": h.word(), "Asset": h.must(p, "Story"), "URL": "https://" + h.word()})
		h.make(p, "ChangeSet", attrs{"Name": h.word(), "PrimaryWorkitems": []any{h.must(p, "Story")}})
		h.make(p, "Expression", attrs{"Content": h.word(), "Author": h.must(p, "Member"), "Mentions": []any{h.must(p, "Story")}})
		h.make(p, "Note", attrs{"Name": h.word(), "Content": h.word(), "Asset": h.must(p, "Epic"), "Personal": h.IntN(2) == 0})
		h.make(p, "Message", attrs{"Name": h.word(), "Asset": h.must(p, "Story"), "Recipients": []any{h.must(p, "Member")}})
		h.make(p, "BuildProject", attrs{"Name": h.word(), "Scopes": []any{"@vault"}})
		h.make(p, "BuildRun", attrs{"Name": h.word(), "BuildProject": h.must(p, "BuildProject"), "ChangeSets": []any{h.must(p, "ChangeSet")}, "CompletesPrimaryWorkitems": []any{h.must(p, "Story")}})
		h.make(p, "Actual", attrs{"Date": "2026-01-01", "Value": h.IntN(9), "Member": h.must(p, "Member"), "Scope": "@vault", "Workitem": h.must(p, "Story")})
	}
}

// must returns a random hidden asset of a type. At least one must exist.
func (h *hider) must(p *script, typ string) any {
	all := h.byType[typ]
	return p.of(all[h.IntN(len(all))])
}

// workitem returns random attributes for a new asset in a hidden project.
func (h *hider) workitem(p *script, typ string) attrs {
	values := attrs{"Name": h.word(), "Scope": h.must(p, "Scope"), "Description": h.word(), "TaggedWith": []any{h.word()}}
	t, _ := model.Type(typ)
	more := attrs{
		"Estimate": h.IntN(9), "ToDo": h.IntN(9), "Swag": h.IntN(9), "Owners": []any{h.some(p, "Member")}, "Super": h.some(p, "Epic"),
		"Parent": h.some(p, "Theme"), "Customer": h.some(p, "Member"), "Owner": h.some(p, "Member"), "Goals": []any{h.some(p, "Goal")},
	}
	for name, v := range more {
		if a, ok := t.Attr(name); ok && !a.ReadOnly {
			values[name] = v
		}
	}
	return values
}

// onTop creates hidden assets that refer to visible assets: a project that is below the callers' project
// but to which the callers have no access, assets with links to visible assets, and personal notes of other
// members.
func onTop(p *script, h *hider) {
	caps(p, h, 9)
	deep := h.make(p, "Scope", attrs{"Name": h.word(), "Parent": p.of("mine"), "BeginDate": "2026-01-01"})
	for name := range callers {
		p.run(deep, "AssignMemberWithRole", attrs{"Member": p.of(name), "Role": pick[any](h.IntN(2) == 0, "Role:0", "Role:10"), "IsOwner": false})
	}
	seen := func(typ string) any { return p.of(fmt.Sprintf("%s%d", strings.ToLower(typ), h.IntN(3))) }
	for range 3 + h.IntN(4) {
		h.make(p, "Story", attrs{"Name": h.word(), "Scope": deep, "Super": seen("Epic"), "Dependencies": []any{seen("Story"), seen("Story")}, "Owners": []any{p.of("lee"), p.of("pal")}, "Timebox": p.of("sprint"), "Team": p.of("team"), "Estimate": 1 + h.IntN(9)})
		h.make(p, "Defect", attrs{"Name": h.word(), "Scope": p.of("vault"), "DuplicateOf": seen("Defect"), "AffectedPrimaryWorkitems": []any{seen("Story")}, "FoundInBuildRuns": []any{p.of("build")}})
		h.make(p, "Issue", attrs{"Name": h.word(), "Scope": p.of("vault"), "BlockedPrimaryWorkitems": []any{seen("Story")}, "Owner": p.of("lee"), "Team": p.of("team")})
		h.make(p, "RegressionTest", attrs{"Name": h.word(), "Scope": p.of("vault"), "RegressionSuites": []any{p.of("suite")}, "Steps": h.word()})
		h.make(p, "Request", attrs{"Name": h.word(), "Scope": deep, "PrimaryWorkitems": []any{seen("Story")}})
		h.make(p, "Expression", attrs{"Content": h.word(), "Author": h.must(p, "Member"), "Mentions": []any{h.must(p, "Story")}, "InReplyTo": pick[any](h.IntN(2) == 0, p.of("said"), nil)})
		h.make(p, "ChangeSet", attrs{"Name": h.word(), "PrimaryWorkitems": []any{h.must(p, "Story")}})
		h.make(p, "BuildRun", attrs{"Name": h.word(), "BuildProject": h.must(p, "BuildProject"), "ChangeSets": []any{p.of("change")}})
	}
	for i := range 3 { // the notes move to other projects together with their stories
		h.make(p, "Note", attrs{"Name": h.word(), "Content": h.word(), "Asset": p.of(fmt.Sprintf("story%d", i)), "Personal": true})
	}
}
