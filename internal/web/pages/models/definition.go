package models

import (
	"net/http"
	"regexp"
	"strconv"

	"github.com/alds-dev/alds/internal/web/ui"
)

// definitionPage is the data of the page of a custom attribute or list.
type definitionPage struct {
	definition
	Leads   []definition // attributes that refer to the list
	Goes    string       // what a deletion would remove, after the reader requested it
	Message string
	AtPurge bool            // the message is shown at the form that deletes the data
	Form    *definitionForm // input of the form for a change; nil: values of the definition
}

// definitionForm is the input of the form for a change.
type definitionForm struct {
	DisplayName string
	Required    bool
}

// definitionOid matches the Oid of a custom definition.
var definitionOid = regexp.MustCompile(`^(AssetType|SimpleAttributeDefinition|OneToManyRelationDefinition|ManyToManyRelationDefinition):[0-9]{1,15}$`)

// showDefinition serves GET ui/model/custom/<Oid>.
func showDefinition(v *ui.Visit) error { return renderDefinition(v, definitionPage{}) }

func renderDefinition(v *ui.Visit, page definitionPage) error {
	oid := v.Request.PathValue("oid")
	if !definitionOid.MatchString(oid) {
		return ui.NotFound()
	}
	validators := []string{"CheckInactivate", "CheckReactivate", "IsUndeletable", "CheckDeleteWithData", "CanUpdate"}
	q := attributesQuery()
	if isList := (definition{Oid: oid}).IsList(); isList {
		q = listsQuery()
	}
	delete(q, "sort")
	q["select"] = append(q["select"].([]string), validators...)
	q["where"] = map[string]any{"ID": oid, "IsCustom": true}
	var found []definition
	var leads []definition
	queries, into := []ui.Query{q}, []any{&found}
	if (definition{Oid: oid}).IsList() {
		queries = append(queries, ui.Query{"from": "RelationDefinition", "where": map[string]any{"RelatedAssetType": oid, "IsCustom": true}, "filter": anyState, "select": []string{"Name", "Asset.Name", "AssetState", "IsDataDeleted", "RelatedAssetType.AssetState"}})
		into = append(into, &leads)
	}
	if err := v.API.Find(queries, into...); err != nil {
		return err
	}
	if len(found) != 1 {
		return ui.NotFound()
	}
	page.definition, page.Leads = found[0], leads
	if page.Form == nil {
		page.Form = &definitionForm{page.DisplayName, page.IsRequired}
	}
	if v.Member.Administers() {
		sendsDefinition(v, oid)
	}
	return v.Render("definition", page.Name, page)
}

// sendsDefinition adds the requests of the forms to the footer.
func sendsDefinition(v *ui.Visit, oid string) {
	for _, work := range []string{"change", "retire", "goes", "purge"} {
		v.Sends("api/asset?atomic=true", example(definitionCommand(oid, work, map[string]any{"DisplayName": "Another name"}, 2)))
	}
}

// definitionCommand returns the command of a form of the page, or nil for an unknown form. It
// also matches deleted definitions.
func definitionCommand(oid, work string, changed map[string]any, assets int) map[string]any {
	c := map[string]any{"from": oid, "filter": anyState}
	switch work {
	case "change":
		c["update"] = changed
	case "retire":
		c["execute"] = "Inactivate"
	case "bring":
		c["execute"] = "Reactivate"
	case "undelete":
		c["execute"] = "Undelete"
	case "goes": // without its argument, the operation is refused and reports what it would delete
		c["execute"] = "DeleteWithData"
	case "purge":
		c["execute"] = map[string]any{"op": "DeleteWithData", "args": map[string]any{"Assets": assets}}
	default:
		return nil
	}
	return c
}

// toGo matches the part of a refusal of DeleteWithData that reports what it would delete.
// Spec: interface 2.1.4.
var toGo = regexp.MustCompile(`'\w+\.Assets: (.+)$`)

// wouldGo returns what a deletion would remove, as the refusal reports it, or "" for another
// refusal.
func wouldGo(refusal string) string {
	m := toGo.FindStringSubmatch(refusal)
	if m == nil {
		return ""
	}
	return one.ReplaceAllStringFunc(m[1], func(text string) string {
		return map[string]string{"1 assets have": "1 asset has", "1 values": "1 value"}[text]
	})
}

// one matches a singular that the interface writes as a plural.
var one = regexp.MustCompile(`\b1 (assets have|values)\b`)

// changeDefinition serves POST ui/model/custom/<Oid>.
func changeDefinition(v *ui.Visit) error {
	oid, work := v.Request.PathValue("oid"), v.Field("do")
	if !definitionOid.MatchString(oid) {
		return ui.NotFound()
	}
	form := definitionForm{v.Field("displayName"), v.Field("required") != ""}
	changed := map[string]any{"DisplayName": form.DisplayName}
	if v.Field("kind") != "list" {
		changed["IsRequired"] = form.Required
	}
	assets, err := strconv.Atoi(v.Field("assets"))
	if err != nil {
		assets = -1 // the input is not a number; the interface refuses -1 and reports the right number
	}
	command := definitionCommand(oid, work, changed, assets)
	if command == nil {
		return &ui.Error{Status: http.StatusBadRequest, Message: "There is no such form."}
	}
	v.CannotUndo()
	_, err = v.API.Write(command)
	if refused, err := ui.AsError(err); err != nil {
		return err
	} else if refused != nil {
		return refuseDefinition(v, work, form, refused)
	}
	done := map[string]string{"retire": "retired", "bring": "brought", "undelete": "brought", "purge": "purged"}[work]
	if done == "" {
		done = "saved"
	}
	return v.Redirect("/ui/model/custom/" + oid + "?done=" + done)
}

// refuseDefinition shows the page with a refusal. When the reader only asked what a deletion
// would remove, the refusal is the expected answer, not an error.
func refuseDefinition(v *ui.Visit, work string, form definitionForm, refused *ui.Error) error {
	page := definitionPage{AtPurge: work == "goes" || work == "purge"}
	if work == "change" {
		page.Form = &form
	}
	page.Goes = wouldGo(refused.Message)
	if work != "goes" || page.Goes == "" {
		v.Status, page.Message = refused.Status, attributeRefusal(refused.Message)
	}
	if work == "purge" && page.Goes != "" {
		page.Message = "That is not the number: " + page.Goes + "."
	}
	return renderDefinition(v, page)
}
