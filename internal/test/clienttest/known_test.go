package clienttest

// Facts that metadata does not contain, with the reason for each.

// shownDeleted is a filter that includes deleted assets. Metadata describes assets, but not the language of
// queries.
// Spec: interface 2.3.7.
const shownDeleted = "IsDeleted='true','false'"

// kept are the kinds of attributes that can be replaced but not cleared. An asset always has a rank. A
// login ends when its username is cleared, so its password need not be cleared.
// Spec: interface 11, 5.2.
var kept = map[string]bool{"Rank": true, "Password": true}

// own are attributes that a member can write only for itself, together with another attribute.
// Spec: interface 5.2.
var own = map[string]bool{"Member.OldPassword": true}

// unoffered reports whether an operation may run although its validator is false. Clients do not offer to
// delete a closed asset, but the service allows it.
// Spec: interface 3.3.
func unoffered(op *operation, row object) bool {
	return op.Name == "Delete" && row["AssetState"] == "Closed"
}

// repeats are operations that succeed without a change on an asset in the given state. Clients may run them
// without a check of the state.
// Spec: interface 3.2.
var repeats = map[string]string{"Inactivate": "Closed", "Close": "Closed", "Reactivate": "Active", "Activate": "Active", "MakeFuture": "Future"}

// small is the Numeric attribute that accepts only 0 to 10.
// Spec: interface 2.2.6.
const small = "Epic.Risk"

// never are attributes that exist only because a base type has them. A multi-value relation cannot be
// required.
// Spec: interface 2.1.4.
//
// A message with a receipt is sent, and then it takes no other change.
var never = map[string]bool{"ManyToManyRelationDefinition.IsRequired": true, "Message.Receipts": true}

// needed are attributes without which an operation of a type cannot run.
// Spec: interface 3.2.
var needed = map[string]string{"Message": "Recipients"} // Send

// definition is the base type of all attribute definitions, list the type of list definitions. Some of
// their attributes can be written only at the creation (see once).
// Spec: interface 2.1.4.
const (
	definition = "AttributeDefinition"
	list       = "AssetType"
)

// once are the attributes of definitions that can be written only at the creation.
var once = map[string]bool{
	"Name": true, "Base": true, "Asset": true, "AttributeType": true, "IsDateOnly": true, "IsMultivalue": true,
	"RelatedAssetType": true, "ReverseName": true,
}

// isOnce reports whether an attribute can be written only at the creation.
func (m *model) isOnce(a *attribute) bool {
	of := typeOf(a.Token)
	return once[a.Name] && (of == list || m.isA(of, definition))
}

// arguments are values for arguments of operations. Assets is the number of assets whose values are deleted
// with a definition, which is 0 in these tests.
// Spec: interface 2.1.4.
var arguments = map[string]any{"Assets": 0}

// known returns the values of a new definition: a list, a Text, or a relation to a new list.
func (c *client) known(typ string) object {
	name := "Custom_" + c.word()
	switch {
	case typ == list:
		return object{"Name": name, "Base": "List"}
	case !c.model.isA(typ, definition):
		return nil
	}
	values := object{"Name": name, "Asset": c.make(list), "AttributeType": "Text"}
	if of := c.model.AssetTypes[typ].Attributes; of[typ+".RelatedAssetType"] != nil {
		values["AttributeType"], values["RelatedAssetType"], values["ReverseName"] = "Relation", c.make(list), name+"_of"
	}
	return values
}
