package ui

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// HeaderWrite is a header of answers within the process. It has the id of the write that the request
// has executed.
const HeaderWrite = "Alds-Write"

// HeaderUndo is a header of answers to scripts. It has the ids of the writes that an undo takes back,
// separated by commas.
const HeaderUndo = "Alds-Undo"

// MaxUndoWrites limits the writes that one undo of a page takes back.
const MaxUndoWrites = 10

// Results of a form in the URL of the page that it redirects to.
const (
	paramDone  = "done"   // key of the notice
	paramCount = "n"      // number in the notice
	paramMade  = "made"   // Oid of a new asset
	paramUndo  = "undo"   // signed ids of the writes of the form
	undoneDone = "undone" // the value of paramDone after an undo
)

// results are the parameters that tell the result of a form. Links of a page leave them out.
var results = []string{paramDone, paramCount, paramMade, paramUndo}

// WithoutResults removes the results of an earlier form from the parameters of a URL.
func WithoutResults(values url.Values) url.Values {
	for _, name := range results {
		values.Del(name)
	}
	return values
}

// IsWrites reports whether a text is a list of at most MaxUndoWrites ids of writes, separated by commas.
func IsWrites(text string) bool {
	ids := strings.Split(text, ",")
	return len(ids) <= MaxUndoWrites && !slices.ContainsFunc(ids, func(id string) bool {
		return uuid.Validate(id) != nil || len(id) != len(uuid.Nil.String())
	})
}

// Writes returns the ids of the writes of this visit, separated by commas. It is "" if there are none,
// or too many for one undo.
func (a *API) Writes() string {
	if len(a.writes) > MaxUndoWrites {
		return ""
	}
	return strings.Join(a.writes, ",")
}

// CannotUndo makes the page offer no undo of the writes of this visit. A page calls it if they are of a
// kind that no undo takes back, such as roles. Spec: interface 4.17.2.
func (v *Visit) CannotUndo() { v.final = true }

// undoable returns the ids of the writes of this visit that the reader may take back at once, or "".
func (v *Visit) undoable() string {
	if v.final {
		return ""
	}
	return v.API.Writes()
}

// withUndo adds the writes of this visit to the path of the page that shows their result.
func (v *Visit) withUndo(path string) string {
	writes := v.undoable()
	u, err := url.Parse(path)
	if writes == "" || err != nil {
		return path
	}
	values := u.Query()
	values.Set(paramUndo, writes+"."+v.undoSeal(writes))
	u.RawQuery = values.Encode()
	return u.String()
}

// undoSeal returns a signature with the session as key. So a link that somebody sends never offers the
// undo of writes of another session.
func (v *Visit) undoSeal(writes string) string {
	mac := hmac.New(sha256.New, []byte(v.Session))
	mac.Write([]byte("undo of " + writes))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// undo returns the writes that the page offers to take back, from its URL, or "".
func (v *Visit) undo() string {
	writes, seal, _ := strings.Cut(v.Param(paramUndo), ".")
	if v.Session == "" || !IsWrites(writes) || !hmac.Equal([]byte(seal), []byte(v.undoSeal(writes))) {
		return ""
	}
	return writes
}

// again returns the URL of the page without the results of a form.
func (v *Visit) again() string {
	u := url.URL{Path: v.Request.URL.Path, RawQuery: WithoutResults(v.Request.URL.Query()).Encode()}
	return u.RequestURI()
}

// Notice is the result of a form, which the page shows once.
type Notice struct {
	Text       string
	Link, Name string // link to an asset in front of the text; empty: none
	Undo       string // ids of the writes to take back; empty: no undo is offered
	Does       string // name of the button for the undo
	Back       string // page to show after the undo
}

// Say sets the text of the notice, with a link to an asset in front of it.
func (v *Visit) Say(link, name, text string) { v.said = Notice{Link: link, Name: name, Text: text} }

// SayDone sets the notice to the text for a value of the parameter done, with a number of items.
func (v *Visit) SayDone(done string, n int) { v.Say("", "", v.noticeOf(done, n)) }

// noticed returns the notice of the page.
func (v *Visit) noticed() Notice {
	n := v.said
	if n.Text == "" {
		n.Text = v.notice()
	}
	if n.Undo = v.undo(); n.Undo != "" {
		n.Back, n.Does = v.again(), "Undo"
		if v.Param(paramDone) == undoneDone {
			n.Does = "Redo"
		}
		if n.Text == "" {
			n.Text = notices["done"]
		}
	}
	return n
}
