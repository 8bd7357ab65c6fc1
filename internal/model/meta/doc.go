// Package meta is the model: asset types, attribute definitions, relations, operations, lists
// and well-known assets. It is read once from model.yaml, which people edit, and never
// changes while the process runs.
//
// A type inherits every attribute and operation of its parent. Type.Attr also finds inherited
// attributes, each under the token of the type itself: Story has Story.Name, which BaseAsset
// declares. The Place of an attribute is where its value is stored.
//
// A relation is declared once, on the side that stores it. Its reciprocal, which is the same
// relation in the other direction, is generated when the model is loaded. Closures and validators
// are generated, too. For example, this line also declares Member.OwnedWorkitems:
//
//	Owners: {to: Member, many: true, link: 1, back: OwnedWorkitems}
//
// To add an attribute, edit model.yaml, whose first comment explains every key. Its last comment
// has the next free codes. The tests check the whole model.
//
// Model.Extend builds another model, by the same steps, with the custom attributes and lists
// of administrators.
//
// Spec: docs/interface.md, sections 2.1, 2.2 and 2.4.
package meta
