package pages

import (
	"compress/gzip"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// visit is one request of one reader.
type visit struct {
	p       *Pages
	w       http.ResponseWriter
	r       *http.Request
	api     *api
	session string // the access token of the cookie; empty: there is none
	member  *member
	status  int           // of the answer; 0: 200
	forms   []sentRequest // what the forms of the page send, as examples
}

// member is who reads the page.
type member struct {
	Oid         string `json:"_oid"`
	Name        string `json:"Name"`
	Username    string `json:"Username"`
	DefaultRole struct {
		Oid string `json:"_oid"`
	} `json:"DefaultRole"`
}

// systemAdmin is the role that may everything.
const systemAdmin = "Role:1"

// Administers reports whether the member may see what concerns the whole system. It
// decides what is shown; the interface decides what is done.
func (m *member) Administers() bool { return m.DefaultRole.Oid == systemAdmin }

// visit returns the visit of a request.
func (p *Pages) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{p: p, w: w, r: r}
	if c, err := r.Cookie(p.cookie); err == nil {
		v.session = c.Value
	}
	v.api = v.asking("Bearer " + v.session)
	return v
}

// asking returns requests with an Authorization header.
func (v *visit) asking(authorization string) *api {
	return &api{transport: v.p.api, ctx: v.r.Context(), host: v.r.Host, base: v.p.base, authorization: authorization}
}

// meet reads who visits. Errors: *failure, 401 when the session does not count.
func (v *visit) meet() error {
	var found []member
	quiet := v.asking(v.api.authorization) // the same on every page, so not shown
	err := quiet.find([]query{{"from": "Member", "where": map[string]string{"IsSelf": "true"}, "select": []string{"Name", "Username", "DefaultRole"}}}, &found)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return &failure{Status: http.StatusForbidden, Message: "The member of this session cannot be read."}
	}
	v.member = &found[0]
	return nil
}

// readForm reads what a form has sent. Errors: *failure.
func (v *visit) readForm() error {
	err := v.r.ParseForm()
	if strings.HasPrefix(v.r.Header.Get("Content-Type"), "multipart/form-data") {
		err = v.r.ParseMultipartForm(maxMultipart)
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &failure{Status: http.StatusRequestEntityTooLarge, Message: "A form takes at most " + bytesOf(strconv.FormatInt(large.Limit, 10)) + ", files included. Send a larger file to attachment.img."}
	}
	if err != nil {
		return &failure{Status: http.StatusBadRequest, Message: "The form cannot be read."}
	}
	return nil
}

// maxMultipart is how much of a form with files is kept in memory: all that arrives
// here is smaller.
const maxMultipart = 16 << 20

// field returns what stands in a field of the form, without spaces around it.
func (v *visit) field(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// param returns a parameter of the URL.
func (v *visit) param(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// link returns a path below the base, with parameters in pairs of name and value.
func (v *visit) link(path string, params ...string) string { return link(v.p.base, path, params...) }

func link(base, path string, params ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return base + path
}

// to leads to another page, which is read: path stands below the base.
func (v *visit) to(path string) error {
	http.Redirect(v.w, v.r, v.p.base+path, http.StatusSeeOther)
	return nil
}

// isPart reports whether the script asks for a part of the page alone. Who goes back in
// the browser gets the whole page.
// isPart reports whether the script asks for a part of the page alone; the browser's
// way back asks for the whole.
func (v *visit) isPart() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// stands notes what a form of the page sends, for its end. Shape of body: indented JSON
// or empty.
func (v *visit) stands(path, body string) {
	v.forms = append(v.forms, sentRequest{Method: http.MethodPost, Path: v.p.base + "/" + path, Body: body})
}

// policy is the Content-Security-Policy of pages: nothing of other hosts, nothing
// written into a page, no frame around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers of pages that protect their readers.
func (v *visit) protect() {
	h := v.w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Cookie, Accept, Accept-Encoding, HX-Request, HX-History-Restore-Request")
}

// send sends the bytes of a page, packed where the browser takes it.
func (v *visit) send(contentType string, body []byte) error {
	h := v.w.Header()
	h.Set("Content-Type", contentType)
	if len(body) < 1<<10 || !acceptsGzip(v.r) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		v.writeStatus()
		_, err := v.w.Write(body)
		return err
	}
	h.Set("Content-Encoding", "gzip")
	v.writeStatus()
	z, err := gzip.NewWriterLevel(v.w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(body); err != nil {
		return err
	}
	return z.Close()
}

func (v *visit) writeStatus() {
	if v.status != 0 {
		v.w.WriteHeader(v.status)
	}
}

func acceptsGzip(r *http.Request) bool {
	for word := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, weight, _ := strings.Cut(strings.TrimSpace(word), ";"); name == "gzip" && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}
