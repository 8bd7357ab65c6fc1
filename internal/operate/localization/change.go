package localization

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits for the texts that administrators set. Each process holds all these texts in memory.
const (
	maxChanges = 1000    // changes in one request
	maxTexts   = 10_000  // texts that are stored at a time
	maxBytes   = 4 << 20 // total size of the stored tags and texts in bytes
)

// maxNoted is the maximum number of changed tags that the audit event of a request lists.
const maxNoted = 20

// Text is a text that an administrator has set, in the form that clients read.
type Text struct {
	Tag      string `json:"tag"`
	Language string `json:"language,omitempty"` // empty: every language
	Text     string `json:"text"`
}

// List contains all texts that administrators have set, ordered by tag and language.
type List struct {
	Type  string `json:"_type"`
	Texts []Text `json:"texts"`
}

// List returns all texts that administrators have set. It returns an error of the kind fault.Denied
// if the actor is not a system administrator.
func (s *Service) List(ctx context.Context, who auth.Actor) (List, error) {
	if err := mayChange(who); err != nil {
		return List{}, err
	}
	var set []localizer.Override
	err := s.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) (err error) {
		set, err = rows(ctx, tx)
		return err
	})
	return listed(set), err
}

func listed(set []localizer.Override) List {
	l := List{Type: "Localization", Texts: make([]Text, len(set))}
	for i, o := range set {
		l.Texts[i] = Text(o)
	}
	return l
}

func mayChange(who auth.Actor) error {
	if !who.Admin {
		return fault.Deniedf("Localization is changed by system administrators")
	}
	return nil
}

// Change sets and removes texts. It applies either all changes of a request or none. It returns all
// texts of administrators after the changes. yaml means that the body is YAML. The error has the
// kind fault.Denied if the actor is not a system administrator, and fault.Invalid for an invalid
// body or too many texts.
func (s *Service) Change(ctx context.Context, who auth.Actor, body []byte, yaml bool) (List, error) {
	if err := mayChange(who); err != nil {
		return List{}, err
	}
	changes, err := s.parse(body, yaml)
	if err != nil {
		return List{}, err
	}
	var set []localizer.Override
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		// This statement comes first. It locks the row, so that concurrent changes wait for each
		// other.
		if _, err := tx.Exec(ctx, `UPDATE sequence SET value = value + 1 WHERE name = 'localization'`); err != nil {
			return err
		}
		before, err := rows(ctx, tx)
		if err != nil {
			return err
		}
		var changed []localizer.Override
		if set, changed, err = applied(before, changes); err != nil || len(changed) == 0 {
			return err
		}
		if err := store(ctx, tx, changed); err != nil {
			return err
		}
		return trail.Record(ctx, tx, event(who, changed))
	})
	if err != nil {
		return List{}, fmt.Errorf("set texts: %w", err)
	}
	s.forget(ctx)
	return listed(set), nil
}

// applied returns the texts after the changes, ordered by tag and language, and the changes that
// have an effect. A change with an empty text removes the text. applied returns an error of the
// kind fault.Invalid if the texts exceed the limits.
func applied(before, changes []localizer.Override) (after, changed []localizer.Override, err error) {
	texts := make(map[localizer.Override]string, len(before)) // by tag and language; the Text of a key is empty
	for _, o := range before {
		texts[key(o)] = o.Text
	}
	for _, o := range changes {
		if texts[key(o)] == o.Text {
			continue
		}
		changed = append(changed, o)
		texts[key(o)] = o.Text
		if o.Text == "" {
			delete(texts, key(o))
		}
	}
	size := 0
	for k, text := range texts {
		size += len(k.Tag) + len(text)
		k.Text = text
		after = append(after, k)
	}
	switch {
	case len(after) > maxTexts && len(after) > len(before):
		err = fault.Invalidf(fault.NoPlace, "More than %d texts would be set", maxTexts)
	case size > maxBytes:
		err = fault.Invalidf(fault.NoPlace, "The texts that are set would have more than %d bytes", maxBytes)
	}
	slices.SortFunc(after, func(a, b localizer.Override) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Language, b.Language))
	})
	return after, changed, err
}

// key returns the tag and the language of a text, for use as a map key.
func key(o localizer.Override) localizer.Override {
	o.Text = ""
	return o
}

// store writes the changed texts into the table. It deletes rows whose text is now empty.
func store(ctx context.Context, tx *db.Tx, changed []localizer.Override) error {
	var set []localizer.Override
	for _, o := range changed {
		if o.Text != "" {
			set = append(set, o)
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM localization WHERE tag = ? AND language = ?`, o.Tag, o.Language); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return nil
	}
	all, keys, update := []string{"tag", "language", "content"}, []string{"tag", "language"}, []string{"content"}
	return db.UpsertN(ctx, tx, "localization", all, keys, update, len(set), func(i int) []any {
		return []any{set[i].Tag, set[i].Language, set[i].Text}
	})
}

// event returns the audit event of a change.
func event(who auth.Actor, changed []localizer.Override) trail.Event {
	e := trail.Event{Kind: trail.LocalizationChanged, Actor: who.Member}
	for _, o := range changed[:min(len(changed), maxNoted)] {
		e.Detail.Changed = append(e.Detail.Changed, o.Tag)
	}
	return e
}
