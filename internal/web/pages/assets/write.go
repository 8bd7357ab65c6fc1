package assets

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// isName matches the name of an operation.
var isName = regexp.MustCompile(`^\w{1,100}$`)

// operateOnAsset serves POST ui/asset/<Oid>/run: it runs an operation and redirects to the
// changed or created asset.
func operateOnAsset(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	op := v.Field("op")
	if !isName.MatchString(op) {
		return &ui.Error{Status: http.StatusBadRequest, Message: "The form names no operation."}
	}
	to := ""
	if err = v.Once(); err == nil { // some operations create assets
		to, err = runOperation(v, o, op)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return showRead(v, o.Now(), v.Readable(refused.Message))
	}
	return v.Redirect(assetLink(to, "done", "done"))
}

// runOperation runs an operation and returns the Oid of the changed or created asset.
func runOperation(v *ui.Visit, o oid.OID, op string) (string, error) {
	args := map[string]any{}
	for name := range v.Request.PostForm {
		if argument, found := strings.CutPrefix(name, "arg."); found && v.Field(name) != "" {
			args[argument] = v.Field(name)
		}
	}
	if len(args) > 0 {
		_, err := v.API.Write(map[string]any{"from": o.Now().String(), "execute": map[string]any{"op": op, "args": args}})
		return o.Now().String(), err
	}
	var answer struct{ ID string }
	if err := v.API.Post(dataPath(o)+"?op="+url.QueryEscape(op), struct{}{}, &answer); err != nil {
		return "", err
	}
	made, err := oid.Parse(answer.ID)
	if err != nil || made.IsNull() {
		return o.Now().String(), nil
	}
	return made.Now().String(), nil
}

// dataPath returns the path of an asset's attributes. Spec: interface 4.1.1.
func dataPath(o oid.OID) string {
	return "rest-1.v1/Data/" + o.Type + "/" + strconv.FormatInt(o.ID, 10)
}

// attachToAsset serves POST ui/asset/<Oid>/attach: it creates an attachment and stores its
// content.
func attachToAsset(v *ui.Visit) error {
	o, err := readOid(v.Request.PathValue("oid"))
	if err != nil {
		return err
	}
	if err = v.Once(); err == nil {
		err = attachFile(v, o)
	}
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		v.Status = refused.Status
		return showRead(v, o.Now(), v.Readable(refused.Message))
	}
	return v.Redirect(assetLink(o.Now().String(), "done", "attached"))
}

func attachFile(v *ui.Visit, o oid.OID) error {
	file, header, err := v.Request.FormFile("file")
	if err != nil {
		return &ui.Error{Status: http.StatusBadRequest, Message: "Choose a file to attach."}
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	kind := header.Header.Get("Content-Type")
	made, err := v.API.Write(map[string]any{
		"AssetType": "Attachment", "Asset": o.Now().String(),
		"Name": cmp.Or(v.Field("name"), header.Filename, "Attachment"), "Filename": header.Filename, "ContentType": kind,
	})
	if err != nil {
		return err
	}
	if len(made.AssetsCreated.OidTokens) != 1 {
		return errors.New("no attachment was created")
	}
	return storeContent(v, made.AssetsCreated.OidTokens[0], kind, content)
}

// storeContent sends the content of a new attachment. If the content is refused, it deletes
// the attachment.
func storeContent(v *ui.Visit, attachment, kind string, content []byte) error {
	_, id, _ := strings.Cut(attachment, ":")
	path := "attachment.img/" + id
	v.API.Note(http.MethodPost, path, nil)
	answer, err := v.API.Raw(http.MethodPost, path, cmp.Or(kind, "application/octet-stream"), content)
	if err == nil && answer.Status >= http.StatusBadRequest {
		err = answer.Err()
	}
	if err != nil {
		_, undone := v.API.Write(map[string]any{"from": attachment, "execute": "Delete"})
		return errors.Join(err, ui.IgnoreRefusal(undone))
	}
	return nil
}
