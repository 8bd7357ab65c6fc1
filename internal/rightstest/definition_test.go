package rightstest

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefinitions has each role, as the DefaultRole of a member, add a custom
// attribute and a list, change, retire and delete them with their data, in a request
// of many commands, by path, later and in a preview. Who may is computed from
// rights.yaml alone.
func TestDefinitions(t *testing.T) {
	w := &world{t: t, url: start(t, "sqlite"), rights: readTable(t)}
	made := w.must(
		attrs{"AssetType": "AttributeDefinition", "Name": "Custom_There", "Asset": "Persona", "AttributeType": "Text"},
		attrs{"AssetType": "AssetType", "Name": "Custom_List", "Base": "List"},
	).AssetsCreated.OidTokens
	for i, role := range w.rights.order {
		login := fmt.Sprintf("role%d", i)
		w.must(attrs{"AssetType": "Member", "Name": role, "Nickname": role, "Username": login, "Password": password, "DefaultRole": w.rights.role[role]})
		_, given := w.rights.Rights[role]["custom attributes"]
		may := given || role == "System Admin"
		commands := []any{
			attrs{"AssetType": "AttributeDefinition", "Name": "Custom_" + login, "Asset": "Persona", "AttributeType": "Numeric"},
			attrs{"AssetType": "OneToManyRelationDefinition", "Name": "Custom_R" + login, "Asset": "Persona", "RelatedAssetType": "Custom_List"},
			attrs{"AssetType": "AssetType", "Name": "Custom_L" + login, "Base": "List"},
			attrs{"from": made[0], "update": attrs{"DisplayName": role}},
			attrs{"from": made[1], "update": attrs{"DisplayName": role}},
			attrs{"from": made[0], "execute": "Inactivate"},
			attrs{"from": made[0], "execute": "Reactivate"},
			attrs{"from": made[0], "execute": attrs{"op": "DeleteWithData", "args": attrs{"Assets": 1}}},
		}
		a := w.ask(login, "POST", "/api/asset", commands)
		denied := strings.Count(string(a.body), "Denied'")
		operated := 1 // Reactivate of what is in use fails with another message
		if want := len(commands) - operated; may && denied != 0 || !may && denied != want {
			t.Errorf("%s: %d commands were denied\n%s", role, denied, a.body)
		}
		for path, body := range map[string]any{
			"/rest-1.v1/Data/AttributeDefinition":                                         attrs{"Attributes": attrs{"Name": "Custom_P" + login, "Asset": "Persona", "AttributeType": "Text"}},
			"/rest-1.v1/Data/" + strings.ReplaceAll(made[0], ":", "/"):                    attrs{"Attributes": attrs{"DisplayName": "by path"}},
			"/rest-1.v1/Data/" + strings.ReplaceAll(made[1], ":", "/") + "?op=Inactivate": nil,
		} {
			status := w.ask(login, "POST", path, body).status
			if want := map[bool]int{true: 200, false: 403}[may]; status != want {
				t.Errorf("%s: POST %s is %d", role, path, status)
			}
		}
		w.ask("admin", "POST", "/rest-1.v1/Data/"+strings.ReplaceAll(made[1], ":", "/")+"?op=Reactivate", nil)
		shown := string(w.ask(login, "POST", "/api/asset?previewonly=true", commands[0]).body)
		if strings.Contains(shown, "Denied'") == may {
			t.Errorf("%s: the preview shows %s", role, shown)
		}
	}
}
