// Package localization keeps the texts that administrators have set for tags. They are rows
// of the table localization. Every process reads them again when it needs a text and their
// generation has changed. The generation is the row 'localization' of the table sequence.
//
//	s := localization.New(d, languages, localization.Options{})
//	texts, err := s.With(localizer).In(ctx, "de-AT, en;q=0.5") // of one model
//	body, err := s.Change(ctx, who, []byte(`{"tag": "a", "text": "b"}`), false)
//
// There is no polling: the generation is read at most every half second, and only when texts
// are requested. So every process has a change within that time.
//
// Spec: interface 4.10.
package localization
