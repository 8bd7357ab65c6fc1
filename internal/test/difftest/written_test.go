package difftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	values "github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// writtenAttrs has one attribute of every kind that can be written and compared. rest has the values of the
// other attributes that an asset of the type needs.
var writtenAttrs = []struct{ typ, attr, rest string }{
	{"Member", "IsLoginDisabled", `"Name":"m","Nickname":"m","DefaultRole":"Role:4",`},
	{"Epic", "Swag", `"Name":"e","Scope":"Scope:0",`},
	{"Story", "Estimate", `"Name":"s","Scope":"Scope:0",`},
	{"Story", "Ideas", `"Name":"s","Scope":"Scope:0",`},
	{"Expression", "AuthoredAt", `"Content":"x",`},
	{"Epic", "PlannedStart", `"Name":"e","Scope":"Scope:0",`},
	{"Timebox", "BeginDate", `"Name":"t","Schedule":{"from":"Schedule","sort":["ID"]},"State":"State:100","EndDate":"9999-12-31",`},
	{"Schedule", "TimeboxLength", `"Name":"s",`},
	{"StoryStatus", "RollupState", `"Name":"s",`},
	{"Publication", "Payload", ``},
	{"Story", "Reference", `"Name":"s","Scope":"Scope:0",`},
	{"Story", "Custom_Cost", `"Name":"s","Scope":"Scope:0",`},
	{"Story", "Custom_Due", `"Name":"s","Scope":"Scope:0",`},
	{"Story", "Custom_Met", `"Name":"s","Scope":"Scope:0",`},
	{"Story", "Custom_Motto", `"Name":"s","Scope":"Scope:0",`},
}

// TestWrittenIsFound writes values in all forms, and some invalid texts. A filter with the same text must
// find the value, or refuse the text if the write refused it. There is one exception: a filter accepts a
// number that is too large or too small for a write, because numbers that were stored earlier can be that
// large or small.
func TestWrittenIsFound(t *testing.T) {
	seed := testseed.New(t)
	m := grown()
	for _, s := range []*server{serve(t, testdb.MySQL(t), m), serve(t, testdb.SQLite(t), m)} {
		t.Run(s.name, func(t *testing.T) {
			testseed.Print(t, seed)
			r := rand.New(rand.NewPCG(seed, 2))
			create(t, s, `{"AssetType":"Schedule","Name":"s"}`)
			taken := 0
			for _, w := range writtenAttrs {
				typ, _ := m.Type(w.typ)
				a, _ := typ.Attr(w.attr)
				for range 12 {
					text := spelling(r, a)
					if r.IntN(4) == 0 {
						text = spoiled(r, text)
					}
					if written(t, s, a, w.typ, w.rest, text) {
						taken++
					}
				}
			}
			t.Logf("%d of %d spellings were taken, seed %d", taken, 12*len(writtenAttrs), seed)
		})
	}
}

// create executes one command. It returns the Oid of the created asset, or the message of the failure.
func create(t *testing.T, s *server, command string) (created, failure string) {
	t.Helper()
	b, err := s.bulk.Run(t.Context(), auth.System, bulk.Request{Body: []byte(command)})
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var answer struct {
		AssetsCreated   struct{ OIDTokens []string }
		CommandFailures struct {
			Commands []struct{ Error struct{ Message string } }
		}
	}
	must(json.Unmarshal(b, &answer))
	if len(answer.CommandFailures.Commands) > 0 {
		return "", answer.CommandFailures.Commands[0].Error.Message
	}
	return answer.AssetsCreated.OIDTokens[0], ""
}

// written writes one value and queries it. It reports whether the write succeeded. A date-only value is
// found only by a text whose time is midnight, although a write accepts any time and drops it.
func written(t *testing.T, s *server, a *meta.Attr, typ, rest, text string) bool {
	t.Helper()
	attr, spelled := a.Name, string(quoted(nil, text))
	oid, failure := create(t, s, fmt.Sprintf(`{"AssetType":%q,%s%q:%s}`, typ, rest, attr, spelled))
	stored, _ := values.Parse(a.Kind, a.DateOnly, text)
	asked, _ := values.Operand(a.Kind, a.DateOnly, text)
	quote := "'" + strings.NewReplacer(`'`, `''`, `"`, `""`).Replace(text) + "'"
	for _, ask := range []string{
		fmt.Sprintf(`"filter":[%s]`, quoted(nil, attr+"="+quote)),
		fmt.Sprintf(`"filter":[%s]`, quoted(nil, "+ID["+attr+"="+quote+"]")),
		fmt.Sprintf(`"where":{%q:%s}`, attr, spelled),
		fmt.Sprintf(`"filter":["%s=$x"],"with":{"$x":[%s]}`, attr, spelled),
	} {
		body := fmt.Sprintf(`{"from":%q,%s}`, typ, ask)
		rows, err := s.rows(auth.System, body)
		switch {
		case failure == "" && (err != nil || strings.Contains(rows, `"`+oid+`"`) != (asked == stored)):
			t.Errorf("%s.%s takes %q, but %s finds %v %v", typ, attr, text, body, rows, err)
		case failure != "" && values.IsBounded(a.Kind, stored) && fault.KindOf(err) != fault.Invalid:
			t.Errorf("%s.%s refuses %q (%s), but %s finds %v %v", typ, attr, text, failure, body, rows, err)
		}
	}
	return failure == ""
}

// spelling returns a random value for an attribute, in one of the forms in which a client may write it.
func spelling(r *rand.Rand, a *meta.Attr) string {
	switch a.Kind {
	case meta.Boolean:
		return pick(r, "true", "false", "True", "FALSE", "tRuE")
	case meta.Numeric:
		f := strconv.FormatFloat(r.NormFloat64()*1000, "feg"[r.IntN(3)], r.IntN(12)-1, 64)
		return pick(r, f, f, "+"+strings.TrimPrefix(f, "-"), strconv.Itoa(r.IntN(100)), "-0", "5.", ".5", "1E3")
	case meta.LongInt:
		return pick(r, "", "+", "-", "00") + strconv.Itoa(r.IntN(1_000_000))
	case meta.Date:
		return dateSpelling(r)
	case meta.Duration:
		return strconv.Itoa(r.IntN(400)) + " " + pick(r, "Days", "Weeks", "Months")
	case meta.State:
		return pick(r, "Future", "active", "CLOSED", "Broken Down", "0", "64", "077", strconv.Itoa(r.IntN(256)))
	case meta.GUID:
		id := fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
		return pick(r, id, strings.ToUpper(id), "{"+id+"}", "urn:uuid:"+id, strings.ReplaceAll(id, "-", ""))
	}
	return (&grower{Rand: r}).text()
}

// dateSpelling returns a random date or time in one of the documented forms.
func dateSpelling(r *rand.Rand) string {
	at := time.Unix(r.Int64N(4_000_000_000), r.Int64N(1_000_000)*1000).UTC()
	return at.Format(pick(r, "2006-01-02", time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05-07:00", "2006-01-02T15:04:05.000000",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04:05.000", "2006-01-02 15:04",
		"1/2/2006", "01/02/2006", "1/2/2006 15:04", "1/2/2006 15:04:05", "1/2/2006 3:04 PM", "1/2/2006 3:04:05 PM"))
}

// spoiled returns the text with one more character or with another ending, or returns an unusual text. Many
// of the results are invalid.
func spoiled(r *rand.Rand, s string) string {
	runes := []rune(s)
	i := r.IntN(len(runes))
	switch r.IntN(4) {
	case 0:
		return string(runes[:i]) + pick(r, "x", "1", "-", " ", "_", "e") + string(runes[i:])
	case 1:
		return pick(r, "0x10", "Inf", "NaN", "1e999", "9999999999999999999", "256", "-1", "yes", "2026-13-01", "1/2/26", "two Weeks")
	case 2:
		return s + pick(r, "Z", " ", "0", ".")
	}
	return strings.ToUpper(s)
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
