// Package localization keeps the texts that administrators have set for tags: rows
// of the table localization, which every process reads again when it is asked for a
// text and their generation, the row 'localization' of the table sequence, has
// moved.
//
//	s := localization.New(d, localizer.New(model, "Scrum").Languages(), localization.Options{})
//	texts, err := s.With(localizer).In(ctx, "de-AT, en;q=0.5") // of one model
//	body, err := s.Change(ctx, who, []byte(`{"tag": "AssetType'Story", "text": "Item"}`), false)
//
// Nobody polls: a generation is asked for at most every half second, and only while
// somebody asks for texts. So a change is seen in every process within that time.
//
// Spec: interface 4.10.
package localization
