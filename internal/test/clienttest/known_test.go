package clienttest

// What metadata does not say, with the reason for each.

// shownDeleted is a filter that shows deleted assets, too: metadata describes
// assets, not the language of queries. Spec: interface 2.3.7.
const shownDeleted = "IsDeleted='true','false'"

// kept are the kinds of which a value is replaced, never taken away: an asset
// always has a place, and a login ends with its name. Spec: interface 11, 5.2.
var kept = map[string]bool{"Rank": true, "Password": true}

// own are attributes that are written only of oneself, beside another one.
// Spec: interface 5.2.
var own = map[string]bool{"Member.OldPassword": true}

// unoffered reports whether an operation may run though its validator says no: clients
// do not offer to delete what is closed. Spec: interface 3.3.
func unoffered(op *operation, row object) bool {
	return op.Name == "Delete" && row["AssetState"] == "Closed"
}

// repeats are the operations that change nothing of an asset in that state, for clients
// that run them without looking. Spec: interface 3.2.
var repeats = map[string]string{"Inactivate": "Closed", "Close": "Closed", "Reactivate": "Active", "Activate": "Active", "MakeFuture": "Future"}

// small is the Numeric that takes 0 to 10 alone. Spec: interface 2.2.6.
const small = "Epic.Risk"

// never are attributes that are there for the sake of others. A relation to many is
// not required. Spec: interface 2.1.4.
var never = map[string]bool{"ManyToManyRelationDefinition.IsRequired": true}

// definition is the type of all that defines attributes, list that of what defines
// lists. They say what a name means: that is given once, in a form of its own.
// Spec: interface 2.1.4.
const (
	definition = "AttributeDefinition"
	list       = "AssetType"
)

// once are the attributes of definitions that only a new one is given.
var once = map[string]bool{
	"Name": true, "Base": true, "Asset": true, "AttributeType": true, "IsDateOnly": true, "IsMultivalue": true,
	"RelatedAssetType": true, "ReverseName": true,
}

// isOnce reports whether an attribute is given to new assets alone.
func (m *model) isOnce(a *attribute) bool {
	of := typeOf(a.Token)
	return once[a.Name] && (of == list || m.isA(of, definition))
}

// arguments are numbers that an operation wants to be told: of the assets whose
// values go with a definition, which here are none. Spec: interface 2.1.4.
var arguments = map[string]any{"Assets": 0}

// known are the values of a new definition: a list, or a Text or relation of a list
// that has no other.
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
