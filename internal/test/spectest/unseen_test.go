package spectest

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// unseenRequests are sent twice: about assets that the caller does not see, and about assets that do not
// exist. {name} and {number} are the name and Number of an epic. {epic}, {story} and {project} are Oids,
// {called} is the name of a project, {epic.id} is the number in the Oid of the epic, and {tag} is a tag.
// {mine}, {seen} and {above} are a project, a story and an epic that the caller sees. {stranger},
// {stranger.id}, {who}, {nick} and {login} are the Oid, its number, and the names of a member who owns
// {seen}.
var unseenRequests = []string{
	// Values of relations: by Oid, by name, and by Number.
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{epic}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{epic}:1234567"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{name}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{number}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{project}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{called}"}]`,
	`POST /api/asset [{"AssetType": "Scope", "Name": "x", "Parent": "{called}", "BeginDate": "2026-01-01"}]`,
	`POST /api/asset [{"AssetType": "Scope", "Name": "x", "Parent": "{project}", "BeginDate": "2026-01-01"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Dependencies": ["{seen}", "{story}"]}]`,
	`POST /api/asset [{"AssetType": "Epic", "Name": "x", "Scope": "{mine}", "Subs": ["{name}"]}]`,
	`POST /api/asset [{"AssetType": "Epic", "Name": "x", "Scope": "{mine}", "Subs": ["{epic}", {"AssetType": "Story", "Name": "y"}]}]`,
	`POST /api/asset [{"AssetType": "Epic", "Name": "x", "Scope": "{mine}", "Subs": [{"AssetType": "Story", "Name": "y", "Dependencies": "{name}"}]}]`,
	`POST /api/asset [{"AssetType": "Task", "Name": "x", "Parent": "{story}"}]`,
	`POST /api/asset [{"AssetType": "Test", "Name": "x", "Parent": "{number}"}]`,
	`POST /api/asset [{"AssetType": "Note", "Name": "x", "Asset": "{epic}"}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Super": "{epic}"}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Super": "{name}"}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Scope": "{project}"}}]`,
	`POST /api/asset [{"from": "{above}", "update": {"Subs": ["{story}"]}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Dependencies": {"add": ["{name}"]}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Dependencies": {"remove": ["{story}"]}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Dependencies": {"remove": ["{name}"]}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Dependencies": {"find": "{story}", "replace": "{seen}"}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Dependencies": {"find": "{seen}", "replace": "{story}"}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Order": {"Before": "{story}"}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Order": {"After": "{number}"}}}]`,
	`POST /api/asset [{"oid": "{seen}", "update": {"Super": {"add": ["{epic}"], "remove": []}}}]`,
	`POST /api/asset [{"@a": {"AssetType": "Story", "Name": "x", "Scope": "{called}"}}, {"from": "@a", "update": {"Name": "y"}}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": {"from": "Epic", "where": {"Name": "{name}"}}}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": {"from": "{epic}"}}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "#ContextOid": "{epic}"}]`,
	`POST /api/asset?previewOnly=true [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{name}"}]`,
	`POST /api/asset?atomic=true [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Super": "{epic}"}]`,
	`POST /rest-1.v1/Data/Story {"Attributes": {"Name": "x", "Scope": "{called}"}}`,
	`POST /rest-1.v1/Data/Story {"Attributes": {"Name": "x", "Scope": "{mine}", "Super": "{epic}"}}`,
	`POST /rest-1.v1/Data/Story {"Attributes": {"Name": "x", "Scope": "{mine}", "Super": "{name}"}}`,
	`POST /rest-1.v1/Data/Story?ctx={epic} {"Attributes": {"Name": "x"}}`,
	`POST /rest-1.v1/Data/Story/{seen.id} {"Attributes": {"Super": {"value": "{number}", "act": "set"}}}`,
	`POST /rest-1.v1/Data/Story/{seen.id} {"Attributes": {"Dependencies": {"value": [{"idref": "{story}", "act": "remove"}]}}}`,
	// Arguments of operations.
	`POST /api/asset [{"from": "{me}", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "{project}", "Role": "Role:4", "IsOwner": false}}}]`,
	`POST /api/asset [{"from": "{me}", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "{called}", "Role": "Role:4", "IsOwner": false}}}]`,
	// The asset that is changed.
	`POST /api/asset [{"from": "{epic}", "update": {"Name": "y"}}]`,
	`POST /api/asset [{"oid": "{epic}", "update": {"Name": "y"}}]`,
	`POST /api/asset [{"from": "{epic}", "execute": "Delete"}]`,
	`POST /api/asset [{"from": "{project}", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "{me}", "Role": "Role:4", "IsOwner": false}}}]`,
	`POST /api/asset [{"from": "Epic", "where": {"Name": "{name}"}, "update": {"Name": "y"}}]`,
	`POST /api/asset [{"from": "{epic}", "where": {"IsDeleted": false}, "update": {"Name": "y"}}]`,
	`POST /api/asset [{"from": "{epic}", "select": ["Name", "Subs.@Count"]}]`,
	`POST /rest-1.v1/Data/Epic/{epic.id} {"Attributes": {"Name": "y"}}`,
	`POST /rest-1.v1/Data/Epic/{epic.id}?op=Delete `,
	`GET /rest-1.v1/Data/Epic/{epic.id}`,
	`GET /rest-1.v1/Data/Epic/{epic.id}/1234567`,
	`GET /assetdetail.v1?oid={epic}`,
	`GET /assetdetail.v1?oid={epic}:1234567`,
	`GET /rest-1.v1/Data/Epic/{epic.id}/Name`,
	`GET /rest-1.v1/Hist/Epic/{epic.id}`,
	`GET /rest-1.v1/New/Story?ctx={epic}`,
	`GET /rest-1.v1/Data/Story?where=Super='{epic}'`,
	`GET /rest-1.v1/Data/Epic?find={name}&findin=Name`,
	// Queries.
	`POST /query.v1 {"from": "{epic}", "select": ["Name"]}`,
	`POST /query.v1 {"from": "{epic}", "select": ["Name"], "asof": "All"}`,
	`POST /query.v1 {"from": "Story", "where": {"Super": "{epic}"}, "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Super!='{epic}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Super.Name='{name}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["SuperMeAndUp='{epic}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Dependants='{story}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Dependants.@Count='1'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "select": ["Dependants[ID='{story}'].@Count", "Dependants[Number='{number}'].@Count"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Scope='{project}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Scope.ParentMeAndUp='{project}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Workitem", "find": "{name}", "select": ["Name"]}`,
	`POST /query.v1 {"from": "Workitem", "find": "{number}", "findin": ["Number"], "select": ["Name"], "total": true}`,
	`POST /query.v1 {"from": "Member", "where": {"IsSelf": true}, "select": ["Name", "OwnedWorkitems[ID='{story}'].@Count"]}`,
	`POST /query.v1 {"from": "Story", "select": ["Name"], "sort": ["Super.Name"], "group": [{"from": "Super", "select": ["Name"]}]}`,
	// Members.
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Owners": ["{me}", "{stranger}"]}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Owners": "{who}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Owners": "{nick}"}]`,
	`POST /api/asset [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Customer": "{login}"}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Owners": {"add": ["{stranger}"]}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Owners": {"remove": ["{who}"]}}}]`,
	`POST /api/asset [{"from": "{seen}", "update": {"Owners": {"find": "{stranger}", "replace": "{me}"}}}]`,
	`POST /api/asset [{"from": "{stranger}", "update": {"Phone": "y"}}]`,
	`POST /api/asset [{"from": "Member", "where": {"Username": "{login}"}, "update": {"Phone": "y"}}]`,
	`POST /api/asset [{"from": "{stranger}", "execute": "Inactivate"}]`,
	`POST /api/asset [{"from": "{mine}", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "{stranger}", "Role": "Role:8", "IsOwner": false}}}]`,
	`POST /api/asset [{"from": "{mine}", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "{who}", "Role": "Role:8", "IsOwner": false}}}]`,
	`POST /api/asset?previewOnly=true [{"AssetType": "Story", "Name": "x", "Scope": "{mine}", "Owners": "{who}"}]`,
	`POST /rest-1.v1/Data/Member/{stranger.id} {"Attributes": {"Phone": "y"}}`,
	`POST /rest-1.v1/Data/Story/{seen.id} {"Attributes": {"Owners": {"value": [{"idref": "{stranger}", "act": "remove"}]}}}`,
	`GET /rest-1.v1/Data/Member/{stranger.id}`,
	`GET /rest-1.v1/Data/Member/{stranger.id}/Name`,
	`GET /rest-1.v1/Hist/Member/{stranger.id}`,
	`GET /rest-1.v1/Data/Story?where=Owners='{stranger}'`,
	`POST /query.v1 {"from": "{stranger}", "select": ["Name"], "asof": "All"}`,
	`POST /query.v1 {"from": "Member", "where": {"Name": "{who}"}, "select": ["Email"], "total": true}`,
	`POST /query.v1 {"from": "Member", "find": "{login}", "findin": ["Username"], "select": ["Email"]}`,
	`POST /query.v1 {"from": "BaseAsset", "where": {"Name": "{who}"}, "select": ["ID"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Owners='{stranger}'"], "select": ["Owners.Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Owners!='{stranger}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["Owners.Nickname='{nick}'|Customer.Nickname='{nick}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "filter": ["CreatedBy='{stranger}'|ChangedBy='{stranger}'"], "select": ["Name"]}`,
	`POST /query.v1 {"from": "Story", "select": ["Owners[ID='{stranger}'].@Count", "Customer.Name", {"from": "Owners", "filter": ["Name='{who}'"], "select": ["Name"]}]}`,
	`GET /api/ProjectRoles/ByMember?where=ID='{stranger}'`,
	// All other requests.
	`GET /api/tags?tag={tag}`,
	`GET /api/tags/command/search?term={tag}`,
	`GET /ui.v1/DTO/MemberScopeRoles/ByProject?where=ID='{project}'`,
}

// These expressions match what differs between two answers to the same request: ids of requests, times, and
// the Oids of new assets.
var (
	madeUp  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z?|"duration":"[^"]*"|"durationSeconds":[0-9.e-]+`)
	newOids = regexp.MustCompile(`[A-Z][A-Za-z]+:\d{4,}(:\d+)?`)
)

// TestUnseenAssetsAnswerLikeUnknown checks that requests about assets that the caller does not see get the
// same answers as requests about assets that do not exist, character by character. Unseen are the assets of
// a project that the caller may not read, and a member who is only in that project.
func TestUnseenAssetsAnswerLikeUnknown(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, _ := startService(t, dialect)
			u := newUnseen(t, base)
			before := u.everything()
			for _, request := range unseenRequests {
				unseen, unknown := u.answer(t, request, u.hidden), u.answer(t, request, u.nobody)
				if unseen != unknown {
					t.Errorf("%s\nunseen:  %s\nunknown: %s", request, unseen, unknown)
				}
			}
			if now := u.everything(); now != before {
				t.Errorf("something hidden was written: %s, before %s", now, before)
			}
		})
	}
}

// unseen is a service with a member who sees only one of two projects. common, hidden and nobody have the
// values of placeholders: of assets that the member sees, of assets that it does not see, and of assets
// that do not exist.
type unseen struct {
	*runner
	common, hidden, nobody map[string]string
	login                  string
}

func newUnseen(t *testing.T, base string) *unseen {
	t.Helper()
	u := &unseen{runner: &runner{t: t, base: base, vars: map[string]string{"word": "hush"}}}
	u.login = "Basic " + base64.StdEncoding.EncodeToString([]byte("hush:pass-hush"))
	u.makeScope()
	made := `POST /api/asset

[
  {"@m": {"AssetType": "Member", "Name": "hush", "Nickname": "hush", "Username": "hush", "Password": "pass-hush", "DefaultRole": "Role:4"}},
  {"@s": {"AssetType": "Member", "Name": "MEMBERSECRET", "Nickname": "NICKSECRET", "Username": "LOGINSECRET", "Password": "pass-secret", "DefaultRole": "Role:4", "Email": "secret@example.com"}},
  {"@mine": {"AssetType": "Scope", "Name": "mine", "Parent": "{{scope}}", "BeginDate": "2026-01-01"}},
  {"@hidden": {"AssetType": "Scope", "Name": "PROJECTSECRET", "Parent": "{{scope}}", "BeginDate": "2026-01-01"}},
  {"@e": {"AssetType": "Epic", "Name": "EPICSECRET", "Scope": "@hidden"}},
  {"@above": {"AssetType": "Epic", "Name": "above", "Scope": "@mine", "Super": "@e"}},
  {"@seen": {"AssetType": "Story", "Name": "seen", "Scope": "@mine", "Super": "@e", "Owners": ["@m", "@s"], "Customer": "@s"}},
  {"AssetType": "Story", "Name": "STORYSECRET", "Scope": "@hidden", "Super": "@above", "Owners": "@m", "Dependencies": "@seen", "TaggedWith": ["TAGSECRET"]},
  {"from": "@mine", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "@m", "Role": "Role:4", "IsOwner": false}}},
  {"from": "@hidden", "execute": {"op": "AssignMemberWithRole", "args": {"Member": "@s", "Role": "Role:2", "IsOwner": false}}}
]`
	for _, step := range [][2]string{
		{u.fill(made), "me = assetsCreated.oidTokens.0\nstranger = assetsCreated.oidTokens.1\nmine = assetsCreated.oidTokens.2\nproject = assetsCreated.oidTokens.3\n" +
			"epic = assetsCreated.oidTokens.4\nabove = assetsCreated.oidTokens.5\nseen = assetsCreated.oidTokens.6\nstory = assetsCreated.oidTokens.7"},
	} {
		if problem := u.ask(step[0]) + u.capture(step[1]); problem != "" {
			t.Fatalf("%s\n%s", problem, u.body)
		}
	}
	if problem := u.ask(u.fill(`POST /query.v1`+"\n\n"+`{"from": "{{epic}}", "select": ["Number"]}`)) + u.capture("number = 0.0.Number"); problem != "" {
		t.Fatalf("%s\n%s", problem, u.body)
	}
	v := u.vars
	u.common = map[string]string{"mine": v["mine"], "seen": v["seen"], "seen.id": v["seen.id"], "above": v["above"], "me": v["me"]}
	u.hidden = map[string]string{
		"epic": v["epic"], "epic.id": v["epic.id"], "story": v["story"], "project": v["project"],
		"name": "EPICSECRET", "number": v["number"], "called": "PROJECTSECRET", "tag": "TAGSECRET",
		"stranger": v["stranger"], "stranger.id": v["stranger.id"], "who": "MEMBERSECRET", "nick": "NICKSECRET", "login": "LOGINSECRET",
	}
	u.nobody = map[string]string{
		"epic": "Epic:9991", "epic.id": "9991", "story": "Story:9992", "project": "Scope:9993",
		"name": "EPICNOBODY", "number": v["number"][:len(v["number"])-3] + "999", "called": "PROJECTNOBODY", "tag": "TAGNOBODY",
		"stranger": "Member:9994", "stranger.id": "9994", "who": "MEMBERNOBODY", "nick": "NICKNOBODY", "login": "LOGINNOBODY",
	}
	return u
}

// answer sends a request. The parameter about has the values of the placeholders in the request. It returns
// the answer, in which names and generated values are replaced so that answers can be compared.
func (u *unseen) answer(t *testing.T, request string, about map[string]string) string {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	text := method + " " + path + "\nAuthorization: " + u.login + "\n\n" + body
	for name, value := range u.common {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	for name, value := range about {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	if problem := u.ask(text); problem != "" {
		t.Fatalf("%s: %s", text, problem)
	}
	answer := fmt.Sprintf("%d %s", u.status, madeUp.ReplaceAllString(string(u.body), "…"))
	for _, names := range []map[string]string{about, u.common} {
		for _, name := range []string{"epic", "story", "project", "name", "number", "called", "tag", "stranger", "who", "nick", "login", "epic.id", "stranger.id", "mine", "seen", "above", "me"} {
			if value := names[name]; value != "" {
				answer = strings.ReplaceAll(answer, value, "{"+name+"}")
			}
		}
	}
	return newOids.ReplaceAllString(answer, "…")
}

// everything returns all that the member does not see, as the administrator reads it.
func (u *unseen) everything() string {
	u.t.Helper()
	problem := u.ask(u.fill("POST /query.v1\n\n" + `[
		{"from": "Workitem", "where": {"Scope": "{{project}}"}, "select": ["Name", "Moment", "Super", "Subs", "Dependants", "Dependencies", "TaggedWith"]},
		{"from": "{{project}}", "select": ["Name", "Moment", "Members", "Workitems", "Children"]},
		{"from": "{{stranger}}", "select": ["Name", "Moment", "Phone", "Scopes"]}
	]`))
	if problem != "" {
		u.t.Fatal(problem)
	}
	return string(u.body)
}
