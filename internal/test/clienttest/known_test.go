package clienttest

// Facts about the service that metadata does not contain. Each comment has the reason.

// shownDeleted is a filter that includes deleted assets. Metadata does not describe the language of
// queries.
// Spec: interface 2.3.7.
const shownDeleted = "IsDeleted='true','false'"

// kept are the kinds of attributes that can be replaced but not cleared. An asset always has a rank. A
// password need not be cleared: a client can clear the username instead, and a member without a username
// cannot log in.
// Spec: interface 11, 5.2.
var kept = map[string]bool{"Rank": true, "Password": true}

// own has attributes that members can write only on their own asset, together with another attribute.
// Spec: interface 5.2.
var own = map[string]bool{"Member.OldPassword": true}

// unoffered reports whether an operation may run although metadata says that it may not. Clients do not
// offer the deletion of a closed asset, but the service allows it.
// Spec: interface 3.3.
func unoffered(op *operation, row object) bool {
	return op.Name == "Delete" && row["AssetState"] == "Closed"
}

// repeats maps an operation to a state. On an asset in that state the operation succeeds and changes
// nothing. So clients may run it without a check of the state.
// Spec: interface 3.2.
var repeats = map[string]string{"Inactivate": "Closed", "Close": "Closed", "Reactivate": "Active", "Activate": "Active", "MakeFuture": "Future"}

// small is the only Numeric attribute with a range. It accepts 0 to 10.
// Spec: interface 2.2.6.
const small = "Epic.Risk"

// never has attributes that exist only because a base type has them, and that can never be written. A
// multi-value relation cannot be required.
// Spec: interface 2.1.4.
//
// A message that has a receipt has been sent, and a sent message cannot be changed.
var never = map[string]bool{"ManyToManyRelationDefinition.IsRequired": true, "Message.Receipts": true}

// needed maps a type to an attribute. Without a value of this attribute, an operation of the type cannot
// run.
// Spec: interface 3.2.
var needed = map[string]string{"Message": "Recipients"} // operation Send

// definition is the base type of all attribute definitions, and list is the type of list definitions. Some
// of their attributes can be written only when the definition is created (see once).
// Spec: interface 2.1.4.
const (
	definition = "AttributeDefinition"
	list       = "AssetType"
)

// once are the attributes of definitions that can be written only when the definition is created.
var once = map[string]bool{
	"Name": true, "Base": true, "Asset": true, "AttributeType": true, "IsDateOnly": true, "IsMultivalue": true,
	"RelatedAssetType": true, "ReverseName": true,
}

// isOnce reports whether an attribute can be written only when the asset is created.
func (m *model) isOnce(a *attribute) bool {
	of := typeOf(a.Token)
	return once[a.Name] && (of == list || m.isA(of, definition))
}

// arguments has values for arguments of operations. Assets is the number of assets that lose their values
// when a definition is deleted. In these tests that number is 0.
// Spec: interface 2.1.4.
var arguments = map[string]any{"Assets": 0}

// known returns the values of a new list, of a new Text attribute, or of a new relation to a new list. It
// returns nil if typ is not a type of definitions.
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
