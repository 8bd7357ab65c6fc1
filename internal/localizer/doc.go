// Package localizer gives the texts that people read for tags.
//
// A tag is a path of parts with apostrophes between them, from the general to the
// specific:
//
//	AssetType'Story                    Backlog Item
//	AttributeDefinition'Name'Defect    Title
//	Operation'Delete'Story             Delete
//	Role.Name'Observer                 Observer
//	Violation'Required'Story.Name      Title is required
//
// The most specific text that there is holds: that of the whole tag, that of the
// types above the one in it, then that of the tag without its last part, and so
// on. In each of these places a text that an administrator has set comes before one
// of the model (names of types by methodology, of custom attributes and lists), and
// that before one of texts/<language>.txt. What the language does not have is taken
// from English, and what English does not have is made of the last part of the tag,
// so every tag has a text.
//
//	model + methodology + overrides --New, With--> *Localizer --In(language)--> Texts --Of(tag)--> text
//
// It is pure: the same tag has the same text for as long as the Localizer lives.
//
// Spec: interface 4.10.
package localizer
