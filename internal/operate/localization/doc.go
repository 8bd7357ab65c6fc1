// Package localization stores the texts that administrators set for tags. The texts are rows of the
// table localization. Each change increases their generation, which is the row 'localization' of
// the table sequence. A process that needs a text reads the rows again if the generation has
// changed.
//
//	s := localization.New(d, languages, localization.Options{})
//	texts, err := s.With(localizer).In(ctx, "de-AT, en;q=0.5") // of one model
//	list, err := s.Change(ctx, who, []byte(`{"tag": "a", "text": "b"}`), false)
//
// There is no polling. A process reads the generation only when a text is requested, and at
// most every half second. Every process therefore uses a new text within half a second.
//
// Spec: interface 4.10.
package localization
