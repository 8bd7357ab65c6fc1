package clienttest

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// theyPrint is the output of every program. <id> stands for the number of an Oid.
const theyPrint = `created Scope:<id> and 5 assets in it
Story:<id> Pay by card, estimate 8: Choose a provider, Send the receipt
Story:<id> Browse the catalogue, estimate 3: no tasks
Story:<id> Gift wrap, estimate 1: no tasks
page: Browse the catalogue, Gift wrap
page: Pay by card
Story:<id> Pay by card is In Progress, by Administrator
  Estimate: 8 -> 5
  Status: nothing -> StoryStatus:134
subscription deleted
`

var number = regexp.MustCompile(`\b(Scope|Story):\d+`)

func serve(t *testing.T, dialect string) (base string) {
	t.Helper()
	return testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": password, "ALDS_WEBHOOK_ALLOW_PRIVATE": "1"})
}

// TestPrograms runs each program. The program must create, query and page assets, accept the one genuine
// delivery and no forged delivery, print the changes, and delete its subscription. On SQLite the programs
// log in with a password, on the other database with a token.
func TestPrograms(t *testing.T) {
	for dialect, login := range map[string]struct{ setting, scheme string }{
		"sqlite": {"ALDS_PASSWORD=" + password, "Basic"},
		"mysql":  {"ALDS_TOKEN=" + token, "Bearer"},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base := serve(t, dialect)
			for i, p := range programs {
				if testing.Short() && (i%2 == 0) != (dialect == "sqlite") {
					continue // test each program on only one of the databases
				}
				t.Run(p.name, func(t *testing.T) {
					g := newGate(t, base)
					got := p.run(t, "ALDS_URL="+g.url, login.setting)
					if text := number.ReplaceAllString(got.out, "$1:<id>"); got.status != 0 || got.problems != "" || text != theyPrint {
						t.Fatalf("ended with %d and %q, and printed\n%s", got.status, got.problems, text)
					}
					g.server.Close() // waits for running requests
					if want := map[string]bool{login.scheme: true}; !reflect.DeepEqual(g.logins, want) || g.genuine != 1 {
						t.Errorf("logged in by %v, took %d deliveries", g.logins, g.genuine)
					}
					isThere(t, base, number.FindString(got.out))
					hasNoSubscription(t, base)
				})
			}
		})
	}
}

// TestRefused refuses a request of each program. The program must report the refused request, end with an
// error, and leave no subscription.
func TestRefused(t *testing.T) {
	t.Parallel()
	base := serve(t, "sqlite")
	const violation = "Violation'Required'Story.Name"
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			for _, c := range []struct{ what, password, failure, prints, says string }{
				{"a wrong password", "guessed", "", "", "Unknown username or wrong password"},
				{"a command that fails", password, violation, "subscription deleted\n", violation},
			} {
				g := newGate(t, base)
				g.failure = c.failure
				got := p.run(t, "ALDS_URL="+g.url, "ALDS_USER=admin", "ALDS_PASSWORD="+c.password)
				if got.status != 1 || !strings.Contains(got.problems, c.says) || !strings.HasSuffix(got.out, c.prints) || (got.out == "") != (c.prints == "") {
					t.Errorf("%s: ended with %d and %q, and printed\n%s", c.what, got.status, got.problems, got.out)
				}
				hasNoSubscription(t, base)
			}
		})
	}
}

// isThere checks that the project has the assets that a program creates.
func isThere(t *testing.T, base, project string) {
	t.Helper()
	type row struct {
		Name, Estimate string
		Status         *string  `json:"Status.Name"`
		Tasks          []string `json:"Children:Task.Name"`
	}
	var got [][]row
	ask(t, http.MethodPost, base+"/query.v1", `{"from": "Story", "where": {"Scope": "`+project+`", "Scope.Name": "Web shop"},
		"select": ["Name", "Estimate", "Status.Name", "Children:Task.Name"], "sort": ["Name"]}`, &got)
	progress := "In Progress"
	if want := [][]row{{
		{"Browse the catalogue", "3", nil, []string{}},
		{"Gift wrap", "1", nil, []string{}},
		{"Pay by card", "5", &progress, []string{"Choose a provider", "Send the receipt"}},
	}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%s has %+v", project, got)
	}
}

func hasNoSubscription(t *testing.T, base string) {
	t.Helper()
	var got struct{ Total int }
	if ask(t, http.MethodGet, base+"/api/webhook", "", &got); got.Total != 0 {
		t.Errorf("%d subscriptions are left", got.Total)
	}
}

func ask(t *testing.T, method, url, body string, answer any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("admin", password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s (%v)", method, url, response.Status, text, err)
	}
}
