package clienttest

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	roundTrips = flag.Int("clienttest.roundtrips", 0, "how many random assets are written in one format and read in both; 0: 60 with -short, else 500")
	seedGiven  = flag.Uint64("clienttest.seed", 0, "what random choices are drawn from; 0: another number each time")
)

// TestRoundTrip writes random assets with difficult characters, half of them as XML by path and half as
// JSON in bulk requests. It reads all of them in both formats, and must get the written values.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	trips := cmp.Or(*roundTrips, 500)
	if testing.Short() {
		trips = cmp.Or(*roundTrips, 60)
	}
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			w := newWriter(t, start(t, dialect), seeded(t))
			for n := 0; n < trips && !t.Failed(); n += pageOfTrips {
				w.page(min(pageOfTrips, trips-n))
			}
			t.Logf("%d assets with %d values were the same in both formats", w.assets, w.values)
		})
	}
}

// pageOfTrips is how many assets are written before they are read.
const pageOfTrips = 250

// scalars are attributes with one value. The value is a function that returns a random value for the
// attribute.
var scalars = map[string]func(*rand.Rand) any{
	"Name":          func(r *rand.Rand) any { return "n" + oddText(r, 60) + "." },
	"Description":   func(r *rand.Rand) any { return oddText(r, 3000) + "." },
	"Custom_Text":   func(r *rand.Rand) any { return oddText(r, 200) + "." },
	"Custom_Number": func(r *rand.Rand) any { return float64(r.IntN(2_000_001)-1_000_000) / 64 },
	"Custom_Flag":   func(r *rand.Rand) any { return r.IntN(2) == 0 },
	"Custom_Day": func(r *rand.Rand) any {
		return fmt.Sprintf("%04d-%02d-%02d", 1+r.IntN(9998), 1+r.IntN(12), 1+r.IntN(28))
	},
	"Custom_Time": func(r *rand.Rand) any {
		return fmt.Sprintf("2026-11-%02dT%02d:07:09.%03d", 1+r.IntN(30), r.IntN(24), r.IntN(1000))
	},
	"Custom_LongText": func(r *rand.Rand) any { return oddText(r, 500) + "." },
}

// many are attributes with several values.
var many = []string{"TaggedWith", "Owners", "Custom_Lists"}

// writer writes assets, reads them and compares the values.
type writer struct {
	*client
	r       *rand.Rand
	scope   string
	members []string
	lists   []string
	assets  int
	values  int
}

func newWriter(t *testing.T, base string, r *rand.Rand) *writer {
	w := &writer{client: connect(t, base), r: r}
	attribute := func(name, kind string, more object) object {
		a := object{"AssetType": "AttributeDefinition", "Name": name, "Asset": "PrimaryWorkitem", "AttributeType": kind}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	w.send(
		object{"AssetType": "AssetType", "Name": "Custom_ListsType", "Base": "List"},
		attribute("Custom_Text", "Text", nil), attribute("Custom_LongText", "LongText", nil),
		attribute("Custom_Number", "Numeric", nil), attribute("Custom_Flag", "Boolean", nil), attribute("Custom_Time", "Date", nil),
		attribute("Custom_Day", "Date", object{"IsDateOnly": true}),
		attribute("Custom_Lists", "Relation", object{"RelatedAssetType": "Custom_ListsType", "IsMultivalue": true}),
	)
	commands := []object{{"AssetType": "Scope", "Name": "round trips", "Parent": "Scope:0", "BeginDate": "2026-01-01"}}
	for i := range 5 {
		name := fmt.Sprintf("member %d", i)
		commands = append(commands, object{"AssetType": "Member", "Name": name, "Nickname": name, "Username": name, "Password": "secret enough", "DefaultRole": "Role:4"},
			object{"AssetType": "Custom_ListsType", "Name": fmt.Sprintf("value %d & <more>", i)})
	}
	made := w.send(commands...)
	if f := made.failures(); len(f) > 0 {
		t.Fatal(f)
	}
	for _, o := range made.AssetsCreated.OidTokens {
		switch typ, _, _ := strings.Cut(o, ":"); typ {
		case "Scope":
			w.scope = o
		case "Member":
			w.members = append(w.members, o)
		default:
			w.lists = append(w.lists, o)
		}
	}
	return w
}

// odd are texts that formats, parsers or databases may change by mistake.
var odd = []string{
	"<", ">", "&", `"`, "'", "\\", "]]>", "<!--", "&amp;", "&#x41;", "%", "_", "\t", "\n", "\r", "\r\n", " ", "  ", "\u00a0", "\u2028", "\u0085",
	"ä", "ß", "İ", "ñ", "n\u0303", "漢字", "\u202eabc", "\u200d", "🙂", "👩‍👩‍👧", "\U0010fffd", "\ufeff", "\ufffd", "{{x}}", "null", "0",
}

// unsaid are characters that XML cannot contain. In XML the service writes U+FFFD instead.
var unsaid = []string{"\x01", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"}

func oddText(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most / 4) {
		if r.IntN(3) == 0 {
			b.WriteString(odd[r.IntN(len(odd))])
		} else {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
	}
	return b.String()
}

// page writes n assets, and then reads and compares them.
func (w *writer) page(n int) {
	w.t.Helper()
	wrote := map[string]object{}
	var bulk []object
	for range n {
		typ := []string{"Story", "Defect"}[w.r.IntN(2)]
		o := w.random()
		if w.r.IntN(2) == 0 {
			wrote[w.postXML(typ, o)] = o
			continue
		}
		for _, name := range []string{"Description", "Custom_LongText"} {
			if s, ok := o[name].(string); ok && w.r.IntN(4) == 0 {
				o[name] = s + unsaid[w.r.IntN(len(unsaid))] + "."
			}
		}
		command := object{"AssetType": typ, "Scope": w.scope}
		for name, v := range o {
			command[name] = v
		}
		bulk = append(bulk, command)
	}
	made := w.send(bulk...)
	if f := made.failures(); len(f) > 0 {
		w.t.Fatal(f)
	}
	for i, token := range made.AssetsCreated.OidTokens {
		delete(bulk[i], "AssetType")
		delete(bulk[i], "Scope")
		wrote[token] = bulk[i]
	}
	w.compare(wrote)
}

// random returns random values for a new asset.
func (w *writer) random() object {
	o := object{}
	for _, name := range slices.Sorted(maps.Keys(scalars)) {
		if v := scalars[name](w.r); name == "Name" || v != nil && w.r.IntN(3) > 0 {
			o[name] = v
		}
	}
	some := func(all []string) any {
		list := []any{}
		for _, i := range w.r.Perm(len(all))[:w.r.IntN(len(all))] {
			list = append(list, all[i])
		}
		return list
	}
	o["Owners"], o["Custom_Lists"] = some(w.members), some(w.lists)
	o["TaggedWith"] = some([]string{"a & b", "<tag>", "ü\"'", "漢", "🙂"})
	return o
}

// postXML creates an asset by path, and returns its Oid without the moment.
func (w *writer) postXML(typ string, o object) string {
	w.t.Helper()
	var b strings.Builder
	escape := func(text string) { _ = xml.EscapeText(&b, []byte(text)) } // writing to a Builder never fails
	b.WriteString(`<Asset><Relation name="Scope" act="set"><Asset idref="` + w.scope + `"/></Relation>`)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		v := o[name]
		switch list := v.(type) {
		case []any:
			element, open, end := "Relation", `<Asset act="add" idref="`, `"/>`
			if name == "TaggedWith" {
				element, open, end = "Attribute", `<Value act="add">`, `</Value>`
			}
			fmt.Fprintf(&b, `<%s name="%s">`, element, name)
			for _, one := range list {
				b.WriteString(open)
				escape(one.(string))
				b.WriteString(end)
			}
			fmt.Fprintf(&b, `</%s>`, element)
		default:
			fmt.Fprintf(&b, `<Attribute name="%s" act="set">`, name)
			escape(fmt.Sprint(v))
			b.WriteString(`</Attribute>`)
		}
	}
	b.WriteString(`</Asset>`)
	var made struct {
		ID string `xml:"id,attr"`
	}
	if err := xml.Unmarshal(w.exchange(http.MethodPost, "/rest-1.v1/Data/"+typ, b.String(), ""), &made); err != nil {
		w.t.Fatal(err)
	}
	return made.ID[:strings.LastIndexByte(made.ID, ':')]
}

// exchange sends a request and returns the body of the answer.
func (w *writer) exchange(method, path, body, accept string) []byte {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s %s: %s %v\n%.2000q\n%.2000s", method, path, res.Status, err, body, got)
	}
	return got
}

// compare reads the assets in both formats. It fails the test if values differ from what was written.
func (w *writer) compare(wrote map[string]object) {
	w.t.Helper()
	names := many
	for name := range scalars {
		names = append(slices.Clip(names), name)
	}
	path := "/rest-1.v1/Data/PrimaryWorkitem?sel=" + strings.Join(names, ",") + "&sort=-ID&page=" + strconv.Itoa(len(wrote)) + "&where=" + url.QueryEscape("Scope='"+w.scope+"'")
	inJSON := w.readJSON(w.exchange(http.MethodGet, path, "", "application/json"))
	inXML := w.readXML(w.exchange(http.MethodGet, path, "", "*/*"))
	if len(inJSON) != len(wrote) || len(inXML) != len(wrote) {
		w.t.Fatalf("%d assets in JSON and %d in XML, of %d", len(inJSON), len(inXML), len(wrote))
	}
	for token, o := range wrote {
		for _, name := range names {
			want := printed(o[name])
			if name == "Custom_Flag" && want == nil {
				want = []string{"false"}
			}
			if got, ok := inJSON[token][name]; !ok || !slices.Equal(got, want) {
				w.t.Errorf("%s.%s in JSON: %.200q, want %.200q", token, name, got, want)
			}
			for i := range want {
				want[i] = inXMLs.Replace(want[i])
			}
			if got, ok := inXML[token][name]; !ok || !slices.Equal(got, want) {
				w.t.Errorf("%s.%s in XML: %.200q, want %.200q", token, name, got, want)
			}
			w.values++
		}
		w.assets++
	}
}

// inXMLs replaces the characters that XML cannot contain with U+FFFD, as the service does.
var inXMLs = func() *strings.Replacer {
	var pairs []string
	for _, c := range unsaid {
		pairs = append(pairs, c, "\ufffd")
	}
	return strings.NewReplacer(pairs...)
}()

// printed returns the sorted texts of the values of an attribute, so that both formats can be compared. It
// returns nil if there is no value.
func printed(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, one.(string))
		}
		slices.Sort(all)
		return all
	}
	return []string{fmt.Sprint(v)}
}

// read maps an attribute of an asset to the texts of its values.
type read map[string][]string

func (w *writer) readJSON(body []byte) map[string]read {
	w.t.Helper()
	var answer struct {
		Assets []struct {
			ID         string
			Attributes map[string]struct{ Value any }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]read{}
	for _, a := range answer.Assets {
		all[a.ID] = read{}
		for name, attribute := range a.Attributes {
			list, isList := attribute.Value.([]any)
			if !isList && attribute.Value != nil {
				list = []any{attribute.Value}
			}
			var texts []string
			for _, v := range list {
				if o, isRef := v.(object); isRef {
					v = o["idref"]
				}
				texts = append(texts, fmt.Sprint(v))
			}
			if isList {
				slices.Sort(texts)
			}
			all[a.ID][name] = texts
		}
	}
	return all
}

// xmlElement is any XML element.
type xmlElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr   `xml:",any,attr"`
	Children []xmlElement `xml:",any"`
	Text     string       `xml:",chardata"`
}

func (e *xmlElement) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (w *writer) readXML(body []byte) map[string]read {
	w.t.Helper()
	var root xmlElement
	if err := xml.Unmarshal(body, &root); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]read{}
	for _, a := range root.Children {
		if a.Text != "" || root.Text != "" {
			w.t.Fatalf("text between elements: %q", a.Text)
		}
		all[a.attr("id")] = read{}
		for _, attribute := range a.Children {
			var texts []string
			for _, v := range attribute.Children {
				texts = append(texts, v.Text+v.attr("idref"))
			}
			slices.Sort(texts)
			if attribute.Text != "" {
				texts = []string{attribute.Text}
			}
			all[a.attr("id")][attribute.attr("name")] = texts
		}
	}
	return all
}
