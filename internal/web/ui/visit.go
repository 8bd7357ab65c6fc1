package ui

import (
	"compress/gzip"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Visit is one request of one reader.
type Visit struct {
	Site    *Site
	Writer  http.ResponseWriter
	Request *http.Request
	API     *API
	Session string // access token of the cookie; empty: no cookie
	Member  *Member
	Status  int // status of the answer; 0 means 200

	templates templates
	forms     []sentRequest // requests that the forms of the page send, as examples
	said      Notice        // notice that the page has set itself
	final     bool          // no undo takes back what this visit has written
}

// Member is the reader of the page.
type Member struct {
	Oid         string `json:"_oid"`
	Name        string `json:"Name"`
	Username    string `json:"Username"`
	DefaultRole struct {
		Oid string `json:"_oid"`
	} `json:"DefaultRole"`
}

// SystemAdmin is the role with all rights.
const SystemAdmin = "Role:1"

// Administers reports whether pages show the member the administration of the whole system. It
// has no effect on rights; the interface checks them.
func (m *Member) Administers() bool { return m.DefaultRole.Oid == SystemAdmin }

// MemberAdmin is the role that manages members and has no other administration rights.
const MemberAdmin = "Role:12"

// ManagesMembers reports whether pages show the member the administration of members. It has no
// effect on rights; the interface checks them.
func (m *Member) ManagesMembers() bool { return m.Administers() || m.DefaultRole.Oid == MemberAdmin }

// visit returns the visit of a request, for a page that uses these templates.
func (s *Site) visit(w http.ResponseWriter, r *http.Request, t templates) *Visit {
	v := &Visit{Site: s, Writer: w, Request: r, templates: t}
	if c, err := r.Cookie(s.cookie); err == nil {
		v.Session = c.Value
	}
	v.API = v.Asking("Bearer " + v.Session)
	return v
}

// Asking returns an API that sends this Authorization header.
func (v *Visit) Asking(authorization string) *API {
	return &API{transport: v.Site.api, ctx: v.Request.Context(), host: v.Request.Host, base: v.Site.Base, authorization: authorization}
}

// Quiet returns an API for the same reader. Its requests are not shown in the footer of the
// page.
func (v *Visit) Quiet() *API { return v.Asking(v.API.authorization) }

// meet reads the member of the session. Errors: *Error, 401 if the session is not valid.
func (v *Visit) meet() error {
	var found []Member
	quiet := v.Quiet() // every page sends it, so the footer does not show it
	err := quiet.Find([]Query{{"from": "Member", "where": map[string]string{"IsSelf": "true"}, "select": []string{"Name", "Username", "DefaultRole"}}}, &found)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return &Error{Status: http.StatusForbidden, Message: "The member of this session cannot be read."}
	}
	v.Member = &found[0]
	return nil
}

// readForm parses the submitted form. Errors: *Error.
func (v *Visit) readForm() error {
	err := v.Request.ParseForm()
	if strings.HasPrefix(v.Request.Header.Get("Content-Type"), "multipart/form-data") {
		err = v.Request.ParseMultipartForm(maxMultipart)
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: "A form takes at most " + BytesOf(strconv.FormatInt(large.Limit, 10)) + ", files included. Send a larger file to attachment.img."}
	}
	if err != nil {
		return &Error{Status: http.StatusBadRequest, Message: "The form cannot be read."}
	}
	return nil
}

// maxMultipart is the number of bytes of a form with files that are held in memory. It is above the
// limit of a body, so no file is written to disk.
const maxMultipart = 16 << 20

// Field returns the value of a form field without surrounding spaces.
func (v *Visit) Field(name string) string { return strings.TrimSpace(v.Request.PostForm.Get(name)) }

// Param returns a parameter of the URL without surrounding spaces.
func (v *Visit) Param(name string) string { return strings.TrimSpace(v.Request.URL.Query().Get(name)) }

// Link returns a path below the base, with parameters in pairs of name and value.
func (v *Visit) Link(path string, params ...string) string { return Link(v.Site.Base, path, params...) }

// Link returns a path below a base, with parameters in pairs of name and value.
func Link(base, path string, params ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return base + path
}

// Redirect redirects to a page for reading. The path is relative to the base. If this visit has
// written something, the page offers to undo it.
func (v *Visit) Redirect(path string) error {
	http.Redirect(v.Writer, v.Request, v.Site.Base+v.withUndo(path), http.StatusSeeOther)
	return nil
}

// IsPart reports whether the script needs only a part of the page. When the browser goes back,
// it needs the whole page.
func (v *Visit) IsPart() bool {
	return v.Request.Header.Get("HX-Request") == "true" && v.Request.Header.Get("HX-History-Restore-Request") != "true"
}

// Sends adds an example of a form's request to the footer of the page. The body is indented
// JSON or empty.
func (v *Visit) Sends(path, body string) {
	v.forms = append(v.forms, sentRequest{Method: http.MethodPost, Path: v.Site.Base + "/" + path, Body: body})
}

// Send writes a page, compressed if it is large enough and the browser accepts gzip.
func (v *Visit) Send(contentType string, body []byte) error {
	h := v.Writer.Header()
	h.Set("Content-Type", contentType)
	if len(body) < 1<<10 || !acceptsGzip(v.Request) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		v.WriteStatus()
		_, err := v.Writer.Write(body)
		return err
	}
	h.Set("Content-Encoding", "gzip")
	v.WriteStatus()
	z, err := gzip.NewWriterLevel(v.Writer, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(body); err != nil {
		return err
	}
	return z.Close()
}

// WriteStatus writes the status of the visit. A page that writes its own body calls it first. A
// script learns from a header which writes it can take back.
func (v *Visit) WriteStatus() {
	if writes := v.undoable(); writes != "" && v.IsPart() {
		v.Writer.Header().Set(HeaderUndo, writes)
	}
	if v.Status != 0 {
		v.Writer.WriteHeader(v.Status)
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

// UUID returns the value of the path wildcard with this name, such as the id of a token. The value
// must be a UUID: other text could change the path of a request to the interface. Errors: *Error.
func (v *Visit) UUID(name string) (string, error) {
	if id := v.Request.PathValue(name); uuid.Validate(id) == nil && len(id) == len(uuid.Nil.String()) {
		return id, nil
	}
	return "", NotFound()
}
