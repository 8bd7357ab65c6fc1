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

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// text returns the message of an error response.
func (a answer) text() string {
	var e struct{ Error string }
	_ = json.Unmarshal(a.body, &e)
	return e.Error
}

// changedMeanwhile is the message to a member who loses a project while its request runs, for
// example because another member moves the project. The request has changed nothing.
const changedMeanwhile = "The rights of the member have changed"

// ask sends a request as a member. It repeats the request while rights change at the same time.
func (w *world) ask(login, method, path string, body any, headers ...string) answer {
	w.t.Helper()
	for {
		if a := w.askOnce(login, method, path, body, headers...); !a.lost() {
			return a
		}
	}
}

// lost reports whether a request must be sent again because its member lost a project.
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

// bulk is the response of api/asset.
type bulk struct {
	Complete        bool
	AssetsCreated   struct{ OidTokens []string }
	CommandFailures struct{ Commands []map[string]json.RawMessage }
	QueryResult     struct{ Results [][]map[string]any }
}

// failures returns one error of each failed command, by its index. It prefers an error that does
// not depend on another command.
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

// hangsOn reports whether a command failed because another command of its request failed.
func hangsOn(message string) bool { return strings.HasPrefix(message, "Invalid OID token: @") }

// send posts commands as a member.
func (w *world) send(login string, commands []any, headers ...string) bulk {
	w.t.Helper()
	a := w.ask(login, http.MethodPost, "/api/asset", commands, headers...)
	if a.status == http.StatusAccepted {
		a = w.await(login, strings.TrimPrefix(a.header.Get("Location"), "/alds"))
		if a.lost() { // the stored response, which stays the same
			return w.send(login, commands, headers...)
		}
	}
	var b bulk
	if err := json.Unmarshal(a.body, &b); err != nil || a.status != http.StatusOK {
		w.t.Fatalf("%s: %d %.2000s", login, a.status, a.body)
	}
	return b
}

// await polls for the response of an accepted request.
func (w *world) await(login, path string) answer {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
		a := w.askOnce(login, http.MethodGet, path, nil)
		if a.lost() { // the poll itself may get this answer
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

// must posts commands of the administrator, which must all succeed.
func (w *world) must(commands ...any) bulk {
	w.t.Helper()
	b := w.send("admin", commands)
	for i, text := range b.failures() {
		command, _ := json.Marshal(commands[i])
		w.t.Fatalf("%s: %s", command, text)
	}
	return b
}
