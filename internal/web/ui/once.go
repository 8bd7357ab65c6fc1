package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Once refuses a form that was already sent, for example after a double click or a reload of
// the answer. A page calls it before the write if the form creates an asset or the answer has
// a secret. If a page shows the form again, the form has a new token, so the reader can send
// it again.
//
// The interface stores the key of the form, so that all processes can see it. Once uses the
// key for a write that matches no asset and is different each time. The interface refuses the
// second use of the key. Errors: *Error, 409. Spec: interface 4.3.11.
func (v *Visit) Once() error {
	text := rand.Text()
	body, err := json.Marshal([]any{map[string]any{
		"from": "Member", "where": map[string]string{"ID": v.Member.Oid, "Name": text}, "update": map[string]string{"Name": text},
	}})
	if err != nil {
		return err
	}
	key := http.Header{"Idempotency-Key": {"form-" + hex.EncodeToString(v.formSum())}}
	answer, err := v.Quiet().With(key, http.MethodPost, "api/asset", "application/json", body)
	switch {
	case err != nil:
		return err
	case answer.Status == http.StatusConflict:
		return &Error{Status: http.StatusConflict, Message: "This form was sent before. See whether it has done its work before you send it again."}
	case answer.Status >= http.StatusBadRequest:
		return answer.Err()
	}
	var w Written
	if err := json.Unmarshal(answer.Body, &w); err != nil {
		return errors.Join(errors.New("read the answer to a form"), err)
	}
	return w.refused()
}

// formSum returns a hash of the submitted form. Files are part of it by name and size.
func (v *Visit) formSum() []byte {
	h := sha256.New()
	fmt.Fprint(h, v.Request.URL.Path, "?", v.Request.PostForm.Encode())
	if m := v.Request.MultipartForm; m != nil {
		for _, field := range slices.Sorted(maps.Keys(m.File)) {
			for _, file := range m.File[field] {
				fmt.Fprintf(h, "&%q=%q,%d", field, file.Filename, file.Size)
			}
		}
	}
	return h.Sum(nil)
}
