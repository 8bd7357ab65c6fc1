// Package meta is the model: asset types, attribute definitions, relations, operations, lists
// and well-known assets. It is read once from model.yaml, which people edit, and never
// changes while the process runs.
//
// A type inherits every attribute and operation of its parent. Type.Attr finds inherited ones
// too, each under the type's own token (Story.Name, declared by BaseAsset). The place where
// the value of an attribute is stored is data as well: its Place.
//
// A relation is written once, at the side that holds it. Reciprocals, closures and validators
// are generated at load time:
//
//	Owners: {to: Member, many: true, link: 1, back: OwnedWorkitems}
//
// To add an attribute, edit model.yaml (its head explains every word) and use the next free
// code at its end. The tests check the whole model.
//
// Model.Extend builds another model, by the same steps, with the custom attributes and lists
// of administrators.
//
// Spec: interface 2.1, 2.2, 2.4.
package meta
