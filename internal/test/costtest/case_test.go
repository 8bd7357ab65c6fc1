package costtest

import (
	"net/http"
	"testing"
)

// cases are requests that once cost too much, in a reduced form. of is the name of the exceeded bound (see
// bounds), and most is the limit for the request now.
var cases = []struct {
	*request
	status int    // expected status; 0: any status, because the request may time out
	of     string // name of the exceeded bound
	most   int64
}{
	{
		commands("operations that fail, each of which read all parts of its story", "role12",
			dict{{"from", word("Story")}, {"page", dict{{"size", 1}}}, {"execute", dict{{"op", word("EpicToStory")}, {"list", many{600, dict{}, false}}}}}),
		http.StatusBadRequest, "rows read", 100_000, // once 290,588
	},
	{
		commands("copies of a suite, which read each relation of each test apart", "admin",
			dict{{"from", word("TestSet")}, {"page", dict{{"size", 1}}}, {"execute", dict{{"op", word("CopyAcceptanceTestsFromRegressionSuite")}, {"list", many{8, dict{}, false}}}}}),
		http.StatusOK, "statements", 1000, // once 1,800
	},
	{
		commands("copies that are refused, likewise", "role6", dict{{"from", word("Story")}, {"execute", word("Copy")}}),
		http.StatusOK, "statements", 1000, // once 6,258
	},
	{
		commands("commands that might change what the caller sees, each of which read its assets apart", "role3",
			dict{{"from", word("Workitem")}, {"update", dict{{"MentionedInExpressions", dict{{"remove", word("Expression:1")}}}}}}),
		http.StatusOK, "statements", 600, // once 3,753
	},
	{
		commands("one value again and again on all assets", "role9",
			dict{{"from", word("BaseAsset")}, {"update", dict{{"MentionedInExpressions", many{4000, word("Expression:1"), false}}}}}),
		http.StatusBadRequest, "bytes allocated", 100 * mib, // once 1,265 MiB until the request timed out
	},
	{
		commands("the same query in the place of a value of each asset", "role9",
			dict{{"from", word("RegressionTest")}, {"update", dict{{"Messages", many{2, dict{{"from", word("Message")}}, false}}}}}),
		http.StatusOK, "statements", 1500, // once 1,902
	},
	{
		commands("many texts with which a long text is compared", "role5",
			dict{{"from", word("Task")}, {"select", list{dict{{"from", word("SuperAndUp")}, {"filter", and(word("Description>"), again("'Ünö"+index+"'", 1328, ","))}}}}}),
		http.StatusOK, "bytes allocated", 200 * mib, // once 4,963 MiB
	},
	{
		commands("one query again and again in the place of values", "admin",
			dict{{"AssetType", word("Expression")}, {"Mentions", many{255, dict{{"from", word("BaseAsset")}}, false}}}),
		http.StatusBadRequest, "rows read", 60_000, // once 399,467
	},
	{
		commands("one query again and again in the place of values of a hierarchy", "admin",
			dict{{"from", word("Task")}, {"page", dict{{"size", 1}}}, {"update", dict{{"SuperMeAndUp", many{1712, dict{{"from", word("Workitem")}}, false}}}}}),
		http.StatusBadRequest, "rows read", 60_000, // once 1,274,244
	},
	{
		&request{
			kind: "a count of a hierarchy that is compared with many values, which was a subquery each", who: "admin", method: "POST", path: "/query.v1", form: asJSON,
			body: list{dict{{"from", word("Task")}, {"page", dict{{"size", 1}}}, {"filter", many{7, and(word("SuperAndUp.@DistinctCount>="), again("'"+index+"'", 27, ",")), false}}}},
		},
		http.StatusOK, "thousand steps of SQLite", 100_000, // once answered 500
	},
	{
		commands("operations on a long text that fail, each of which kept the text", "role8",
			dict{{"from", word("Story")}, {"filter", list{word("Name='long'")}}, {"page", dict{{"size", 1}}}, {"execute", dict{{"op", word("EpicToStory")}, {"list", many{160, dict{}, false}}}}}),
		http.StatusOK, "bytes held", 100 * mib, // once 324 MiB, 2 MB for each command
	},
	{
		&request{
			kind: "new assets that refer to one asset, each of which read all references before it", who: "admin", method: "POST", path: "/api/asset", form: asJSON, writes: true,
			body: many{400, dict{{"AssetType", word("BuildProject")}, {"Name", word("B")}, {"MentionedInExpressions", list{dict{{"from", word("Expression")}, {"page", dict{{"size", 1}}}}}}}, false},
		},
		http.StatusOK, "rows read", 20_000, // once 203,068
	},
	{
		&request{
			kind: "numbers that are compared by their order with a list, which SQLite planned for seconds", who: "role10", method: "POST", path: "/query.v1", form: asJSON,
			body: dict{{"from", word("Task")}, {"filter", many{129, word("Estimate>=$list"), false}}, {"with", dict{{"$list", many{199, word(index), false}}}}},
		},
		http.StatusOK, "bytes allocated", 200 * mib, // once 503
	},
	{
		&request{
			kind: "hierarchies of versions of versions, which SQLite kept in memory", who: "role11", method: "GET", path: "/rest-1.v1/Hist/PrimaryWorkitem",
			params: dict{{"sel", and(word("Notes,Status.ChangedBy,History.ParentAndUp.SubsAndDown.Reference,ChangedBy,Parent.SubsAndDown,"), again("History", 3, "."), word(",ChangeComment,AssetState"))}},
		},
		0, "bytes held", 250 * mib, // once 617 MiB until the request timed out
	},
	{
		&request{
			kind: "groups within groups, of which one row made millions", who: "role12", method: "POST", path: "/query.v1", form: asJSON,
			body: list{dict{{"from", word("AssetType")}, {"group", many{4, dict{{"from", word("Viewers")}}, false}}}},
		},
		http.StatusBadRequest, "bytes held", 250 * mib, // once 711 MiB until the request timed out
	},
	{
		&request{
			kind: "so many counts of a hierarchy that SQLite refuses them", who: "admin", method: "POST", path: "/query.v1", form: asJSON,
			body: list{dict{{"from", word("Task")}, {"filter", many{198, word("SuperAndUp.@DistinctCount>='1'"), false}}}},
		},
		http.StatusBadRequest, "thousand steps of SQLite", 100_000, // once answered 500
	},
	{
		&request{
			kind: "many conditions below hierarchies, all of which alds read again for each SELECT of the statement", who: "role8", method: "POST", path: "/query.v1", form: asJSON,
			body: dict{{"from", word("Story")}, {"select", list{and(word("Parent.Children.ParentMeAndUp:Epic.SubsAndDown:Theme.ID["), again("-Viewers.Links", 156, ";"), word("].IsDead"))}}},
		},
		0, "bytes allocated", 200 * mib, // once 2,474 MiB
	},
}

func commands(what, who string, all ...any) *request {
	return &request{kind: what, who: who, method: "POST", path: "/api/asset", form: asJSON, body: list(all), writes: true}
}

// halfOfLimit is half as much processor time as the request timeout mayTake, in microseconds.
const halfOfLimit = 2_500_000

// TestCases sends the requests of cases and compares their cost with the limits.
func TestCases(t *testing.T) {
	m := newMachine(t)
	m.renew()
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			got := m.send(c.request)
			for n := 0; n < 10 && c.status != http.StatusServiceUnavailable && got.status == http.StatusServiceUnavailable && got.Processor < halfOfLimit; n++ {
				got = m.send(c.request) // the request timed out because other processes used the processor
			}
			t.Logf("%d %.150s; %v, %d MiB held", got.status, got.answer, got.counts, got.peak/mib)
			if why := tooMuch(got); why != "" {
				t.Error(why)
			}
			for _, b := range bounds {
				if b.what == c.of && b.of(got) > c.most {
					t.Errorf("%d %s, at most %d", b.of(got), b.what, c.most)
				}
			}
			if c.status != 0 && got.status != c.status {
				t.Errorf("answered %d %.300s, want %d", got.status, got.answer, c.status)
			}
		})
	}
}
