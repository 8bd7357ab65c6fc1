package hiddentest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) {
	auth.ForTests()
	activity.ForTests()
	testdb.Main(m)
}

var model = meta.Default()

const adminPassword = "the hidden test's own password"

// service is a running alds with its own database. It has one of the two variants of hidden assets.
type service struct {
	d     *db.DB
	base  string // http://host:port/instance
	oids  map[string]string
	told  []string          // names of hidden assets
	marks []string          // times; before each of them, both services had answered the same requests
	next  string            // cursor in the last reply that had a cursor
	later string            // id of the last asynchronous request
	wrote []string          // ids of the last bulk requests and undos of callers
	token map[string]string // access tokens of callers by username; without one, a caller sends its password
	http  http.Client
}

// environment returns the environment of a service with the database url.
func environment(t *testing.T, url, addr string, log io.Writer) app.Environment {
	env := map[string]string{
		"ALDS_ADDR": addr, "ALDS_ADMIN_PASSWORD": adminPassword, "ALDS_DATA_DIR": t.TempDir(),
		"ALDS_SECRET_KEY": strings.Repeat("A", 43) + "=", "DATABASE_URL": url,
	}
	return app.Environment{Getenv: func(name string) string { return env[name] }, Stderr: log}
}

// start creates a database, fills it and runs the service on it until the test ends.
func start(t *testing.T, dialect string, fill func(t *testing.T, s *service)) *service {
	t.Helper()
	url, addr, log := testdb.URL(t, dialect), testproc.FreeAddr(t), &testproc.Log{}
	env := environment(t, url, addr, log)
	if err := app.Migrate(t.Context(), env, app.StandaloneWith(embedded.Start)); err != nil {
		t.Fatal(err)
	}
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s := &service{d: d, base: "http://" + addr + "/alds", oids: map[string]string{}}
	fill(t, s)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, env, app.StandaloneWith(embedded.Start)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Fatalf("the service does not answer\n%s", log)
	}
	return s
}

// reply is the answer to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request. The parameter who is the username of the sender.
func (s *service) send(who string, r *request) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, s.base+s.fill(r.path), strings.NewReader(s.fill(r.text())))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Accept", "application/json")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if req.Header.Set("Authorization", login(who)); s.token[who] != "" {
		req.Header.Set("Authorization", "Bearer "+s.token[who])
	}
	res, err := s.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(body)}, err
}

// makeTokens makes an access token for each caller. It reads and writes only in the visible projects.
func (s *service) makeTokens(t *testing.T) {
	t.Helper()
	tokens := map[string]string{}
	for who := range callers {
		body := `{"name": "bound", "bounds": {"projects": ["` + s.oids["mine"] + `"]}}`
		r, err := s.send(who, &request{method: "POST", path: "/api/tokens", body: body})
		var made struct{ Token string }
		if err == nil {
			err = json.Unmarshal([]byte(r.body), &made)
		}
		if err != nil || made.Token == "" {
			t.Fatalf("a token of %s: %v %s", who, err, r.body)
		}
		tokens[who] = made.Token
	}
	s.token = tokens
}

func login(who string) string {
	password := "pass-" + who
	if who == "admin" {
		password = adminPassword
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(who+":"+password))
}

// fill replaces placeholders in a request by values that differ between the services but mean the same: a
// time, the cursor of the last reply, or the id of an earlier request.
func (s *service) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	pairs := []string{"{next}", s.next, "{later}", s.later}
	for i, id := range s.wrote {
		pairs = append(pairs, "{wrote"+string(rune('0'+i))+"}", id)
	}
	for i, mark := range s.marks {
		pairs = append(pairs, "{mark"+string(rune('0'+i))+"}", mark)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
