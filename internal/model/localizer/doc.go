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
// The most specific existing text applies. The search starts with the whole tag. Then it replaces
// the type in the tag by each type above it, from the nearest to the farthest. Then it removes the
// last parts of the tag one by one.
//
// For each of these tags a text that an administrator has set comes first. Then comes a text of
// the model: the name of a type in the methodology, of a custom attribute or of a custom list.
// Then comes a text of texts/<language>.txt. If a language has no text, the English text is used.
// If English has no text either, the last part of the tag is used, so every tag has a text.
//
//	model + methodology + overrides --New, With--> *Localizer
//	*Localizer --In(language)--> Texts --Of(tag)--> text
//
// The package is pure: a Localizer always returns the same text for a tag.
//
// Spec: docs/interface.md, section 4.10.
package localizer
