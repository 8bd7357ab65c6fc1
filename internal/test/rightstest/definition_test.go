package rightstest

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestDefinitions checks which roles may add, change, retire and delete custom attributes and lists, also
// together with their data. For each role, a member with this role as its DefaultRole tries this in a bulk
// request, by path, in an asynchronous request and in a preview. The test computes the expected results
// from rights.yaml alone.
func TestDefinitions(t *testing.T) {
	w := &world{t: t, url: start(t, "sqlite"), rights: readTable(t)}
	made := w.must(
		attrs{"AssetType": "AttributeDefinition", "Name": "Custom_There", "Asset": "Persona", "AttributeType": "Text"},
		attrs{"AssetType": "AssetType", "Name": "Custom_List", "Base": "List"},
	).AssetsCreated.OidTokens
	for _, role := range w.rights.order {
		login := strings.ReplaceAll(role, " ", "")
		w.must(attrs{"AssetType": "Member", "Name": role, "Nickname": role, "Username": login, "Password": password, "DefaultRole": w.rights.role[role]})
		_, given := w.rights.Rights[role]["custom attributes"]
		may := given || role == systemAdmin
		own := w.define(login, made, may)
		w.deleteLater(login, made[0], own, may)
		w.defineByPath(login, made, may)
		preview := attrs{"AssetType": "AttributeDefinition", "Name": "Custom_V" + login, "Asset": "Persona", "AttributeType": "Numeric"}
		a := w.ask(login, http.MethodPost, "/api/asset?previewonly=true", preview)
		if a.status != http.StatusOK || strings.Contains(string(a.body), "Denied'") == may {
			t.Errorf("%s: the preview is %d %s", role, a.status, a.body)
		}
	}
}

// define tries to add, change and retire definitions as a member. It returns the Oids of the added
// definitions. It also tries to delete a definition with its data, but states a wrong number of assets.
// This must fail for every member.
func (w *world) define(login string, made []string, may bool) []string {
	w.t.Helper()
	b := w.send(login, []any{
		attrs{"AssetType": "AttributeDefinition", "Name": "Custom_" + login, "Asset": "Persona", "AttributeType": "Numeric"},
		attrs{"AssetType": "OneToManyRelationDefinition", "Name": "Custom_R" + login, "Asset": "Persona", "RelatedAssetType": "Custom_List"},
		attrs{"AssetType": "AssetType", "Name": "Custom_L" + login, "Base": "List"},
		attrs{"from": made[0], "update": attrs{"DisplayName": login}},
		attrs{"from": made[1], "update": attrs{"DisplayName": login}},
		attrs{"from": made[0], "execute": "Inactivate"},
		attrs{"from": made[0], "execute": "Reactivate"},
		attrs{"from": made[0], "execute": attrs{"op": "DeleteWithData", "args": attrs{"Assets": 1}}},
	})
	want := map[int]string{7: "Violation'Invalid'SimpleAttributeDefinition.Assets: 0 assets have a value"}
	if !may {
		want = map[int]string{
			0: "Denied'SimpleAttributeDefinition.Create",
			1: "Denied'OneToManyRelationDefinition.Create",
			2: "Denied'AssetType.Create",
			3: "Denied'SimpleAttributeDefinition.Change",
			4: "Denied'AssetType.Change",
			5: "Denied'SimpleAttributeDefinition.Inactivate",
			6: "Denied'SimpleAttributeDefinition.Reactivate",
			7: "Denied'SimpleAttributeDefinition.DeleteWithData",
		}
	}
	own := b.AssetsCreated.OidTokens
	if got := b.failures(); !maps.Equal(got, want) || may != (len(own) == 3) {
		w.t.Errorf("%s made %v; what failed is %v, not %v", login, own, got, want)
	}
	return own
}

// deleteLater tries to delete definitions with their data, in an asynchronous request. A member with the
// right deletes the definitions that it has added. A member without the right tries to delete the
// definition other.
func (w *world) deleteLater(login, other string, own []string, may bool) {
	w.t.Helper()
	want := map[int]string{}
	if !may {
		own, want[0] = []string{other}, "Denied'SimpleAttributeDefinition.DeleteWithData"
	}
	var commands []any
	for _, oid := range own {
		commands = append(commands, attrs{"from": oid, "execute": attrs{"op": "DeleteWithData", "args": attrs{"Assets": 0}}})
	}
	if got := w.send(login, commands, "Prefer", "respond-async").failures(); !maps.Equal(got, want) {
		w.t.Errorf("%s deletes %v later: what failed is %v, not %v", login, own, got, want)
	}
}

// defineByPath tries to add, change and retire definitions, in one request each. If the member has the
// right, the administrator then reactivates the retired definition, so that the next member can retire it.
func (w *world) defineByPath(login string, made []string, may bool) {
	w.t.Helper()
	want := http.StatusForbidden
	if may {
		want = http.StatusOK
	}
	const data = "/rest-1.v1/Data/"
	first, second := data+strings.ReplaceAll(made[0], ":", "/"), data+strings.ReplaceAll(made[1], ":", "/")
	for path, body := range map[string]any{
		data + "AttributeDefinition": attrs{"Attributes": attrs{"Name": "Custom_P" + login, "Asset": "Persona", "AttributeType": "Text"}},
		first:                        attrs{"Attributes": attrs{"DisplayName": "by path"}},
		second + "?op=Inactivate":    nil,
	} {
		if a := w.ask(login, http.MethodPost, path, body); a.status != want {
			w.t.Errorf("%s: POST %s is %d %s", login, path, a.status, a.body)
		}
	}
	if !may {
		return
	}
	if a := w.ask("admin", http.MethodPost, second+"?op=Reactivate", nil); a.status != http.StatusOK {
		w.t.Errorf("%s cannot be brought back: %d %s", made[1], a.status, a.body)
	}
}
