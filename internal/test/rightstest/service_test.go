package rightstest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) { testdb.Main(m) }

const password = "one for all of the matrix"

// start runs the service until the test ends, and returns its URL.
func start(t *testing.T, dialect string) string {
	t.Helper()
	return testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": password})
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// text returns the message if the answer is an error.
func (a answer) text() string {
	var e struct{ Error string }
	_ = json.Unmarshal(a.body, &e)
	return e.Error
}

// changedMeanwhile is the message if the member loses a project while its request runs, for example because
// another member moves the project. Such a request has changed nothing.
const changedMeanwhile = "The rights of the member have changed"

// ask sends a request as a member and returns the answer. It repeats the request while the answer is
// changedMeanwhile.
func (w *world) ask(login, method, path string, body any, headers ...string) answer {
	w.t.Helper()
	for {
		if a := w.askOnce(login, method, path, body, headers...); !a.lost() {
			return a
		}
	}
}

// lost reports whether the request must be sent again because the member lost a project.
func (a answer) lost() bool {
	return a.status == http.StatusForbidden && a.text() == changedMeanwhile
}

func (w *world) askOnce(login, method, path string, body any, headers ...string) answer {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth(login, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// bulk is the decoded answer of api/asset.
type bulk struct {
	Complete        bool
	AssetsCreated   struct{ OidTokens []string }
	CommandFailures struct{ Commands []map[string]json.RawMessage }
	QueryResult     struct{ Results [][]map[string]any }
}

// failures returns one error for each command that failed. The key is the index of the command. It prefers
// errors that are not the consequence of another failed command.
func (b bulk) failures() map[int]string {
	all := map[int]string{}
	for _, c := range b.CommandFailures.Commands {
		var e struct {
			Message            string
			SourceCommandIndex int
		}
		_ = json.Unmarshal(c["error"], &e)
		said, ok := all[e.SourceCommandIndex]
		if !ok || hangsOn(said) && !hangsOn(e.Message) {
			all[e.SourceCommandIndex] = e.Message
		}
	}
	return all
}

// hangsOn reports whether a command failed only because another command of the request failed.
func hangsOn(message string) bool { return strings.HasPrefix(message, "Invalid OID token: @") }

// send posts commands as a member.
func (w *world) send(login string, commands []any, headers ...string) bulk {
	w.t.Helper()
	a := w.ask(login, http.MethodPost, "/api/asset", commands, headers...)
	if a.status == http.StatusAccepted {
		a = w.await(login, strings.TrimPrefix(a.header.Get("Location"), "/alds"))
		if a.lost() { // polling again would return the same stored answer
			return w.send(login, commands, headers...)
		}
	}
	var b bulk
	if err := json.Unmarshal(a.body, &b); err != nil || a.status != http.StatusOK {
		w.t.Fatalf("%s: %d %.2000s", login, a.status, a.body)
	}
	return b
}

// await polls until an asynchronous request has ended, and returns the answer.
func (w *world) await(login, path string) answer {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		a := w.askOnce(login, http.MethodGet, path, nil)
		if a.lost() { // the request that polls can get this answer itself
			a = w.askOnce(login, http.MethodGet, path, nil)
		}
		var b bulk
		if err := json.Unmarshal(a.body, &b); err != nil || a.status != http.StatusOK || b.Complete {
			return a
		}
	}
	w.t.Fatalf("%s is not done", path)
	return answer{}
}

// must sends commands as the administrator. All commands must succeed.
func (w *world) must(commands ...any) bulk {
	w.t.Helper()
	b := w.send("admin", commands)
	for i, text := range b.failures() {
		command, _ := json.Marshal(commands[i])
		w.t.Fatalf("%s: %s", command, text)
	}
	return b
}
