// Package localizer returns the text for a tag, in the language of the reader.
//
// A tag is a path of parts separated by apostrophes, from the general to the specific:
//
//	AssetType'Story                    Backlog Item
//	AttributeDefinition'Name'Defect    Title
//	Operation'Delete'Story             Delete
//	Role.Name'Observer                 Observer
//	Violation'Required'Story.Name      Title is required
//
// The most specific existing text applies. The search starts with the whole tag. Then it
// replaces the type in it by the types above, and then removes the last parts one by one.
//
// For each of these tags a text of an administrator comes first. Then comes one of the model
// (names of types by methodology, of custom attributes and lists), then one of
// texts/<language>.txt. A text that is missing in a language is taken from English. Without
// any text the last part of the tag is used, so every tag has a text.
//
//	model + methodology + overrides --New, With--> *Localizer
//	*Localizer --In(language)--> Texts --Of(tag)--> text
//
// It is pure: a Localizer always returns the same text for a tag.
//
// Spec: interface 4.10.
package localizer
