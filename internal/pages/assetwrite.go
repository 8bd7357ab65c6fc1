package pages

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/oid"
)

// isName is what an operation or attribute may be called.
var isName = regexp.MustCompile(`^\w{1,100}$`)

// operateOnAsset serves POST ui/asset/<Oid>/run: it runs an operation and leads to the
// asset that comes of it.
func operateOnAsset(v *visit) error {
	o, err := readOid(v.r.PathValue("oid"))
	if err != nil {
		return err
	}
	op := v.field("op")
	if !isName.MatchString(op) {
		return &failure{Status: http.StatusBadRequest, Message: "The form names no operation."}
	}
	to, err := v.run(o, op)
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.readAsset(o.Now(), readable(refused.Message))
	}
	return v.to(assetLink(to, "done", "done"))
}

// run runs an operation and returns the Oid of what it has changed or made.
func (v *visit) run(o oid.OID, op string) (string, error) {
	args := map[string]any{}
	for name := range v.r.PostForm {
		if argument, found := strings.CutPrefix(name, "arg."); found && v.field(name) != "" {
			args[argument] = v.field(name)
		}
	}
	if len(args) > 0 {
		_, err := v.api.write(map[string]any{"from": o.Now().String(), "execute": map[string]any{"op": op, "args": args}})
		return o.Now().String(), err
	}
	var answer struct{ ID string }
	if err := v.api.post(dataPath(o)+"?op="+url.QueryEscape(op), struct{}{}, &answer); err != nil {
		return "", err
	}
	made, err := oid.Parse(answer.ID)
	if err != nil || made.IsNull() {
		return o.Now().String(), nil
	}
	return made.Now().String(), nil
}

// dataPath is the path of an asset's attributes. Spec: interface 4.1.1.
func dataPath(o oid.OID) string {
	return "rest-1.v1/Data/" + o.Type + "/" + strconv.FormatInt(o.ID, 10)
}

// attachToAsset serves POST ui/asset/<Oid>/attach: it makes an attachment and stores its
// bytes.
func attachToAsset(v *visit) error {
	o, err := readOid(v.r.PathValue("oid"))
	if err != nil {
		return err
	}
	err = v.attach(o)
	if refused, err := asFailure(err); err != nil {
		return err
	} else if refused != nil {
		v.status = refused.Status
		return v.readAsset(o.Now(), readable(refused.Message))
	}
	return v.to(assetLink(o.Now().String(), "done", "attached"))
}

func (v *visit) attach(o oid.OID) error {
	file, header, err := v.r.FormFile("file")
	if err != nil {
		return &failure{Status: http.StatusBadRequest, Message: "Choose a file to attach."}
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	kind := header.Header.Get("Content-Type")
	made, err := v.api.write(map[string]any{
		"AssetType": "Attachment", "Asset": o.Now().String(),
		"Name": cmp.Or(v.field("name"), header.Filename, "Attachment"), "Filename": header.Filename, "ContentType": kind,
	})
	if err != nil {
		return err
	}
	if len(made.AssetsCreated.OidTokens) != 1 {
		return errors.New("no attachment was made")
	}
	return v.store(made.AssetsCreated.OidTokens[0], kind, content)
}

// store sends the bytes of a new attachment, which is deleted where they are refused.
func (v *visit) store(attachment, kind string, content []byte) error {
	_, id, _ := strings.Cut(attachment, ":")
	path := "attachment.img/" + id
	v.api.note(http.MethodPost, path, nil)
	answer, err := v.api.raw(http.MethodPost, path, cmp.Or(kind, "application/octet-stream"), content)
	if err == nil && answer.status >= http.StatusBadRequest {
		err = answer.failure()
	}
	if err != nil {
		_, undone := v.api.write(map[string]any{"from": attachment, "execute": "Delete"})
		return errors.Join(err, ignoreRefusal(undone))
	}
	return nil
}
