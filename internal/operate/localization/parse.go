package localization

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
)

// parse reads the changes of a request. If text is null, the text of the tag is removed. The body
// is one object such as {"tag": "AssetType'Story", "text": "Item", "language": "de"}, or a list of
// such objects. parse returns an error of the kind fault.Invalid for any other body.
func (s *Service) parse(body []byte, yaml bool) ([]localizer.Override, error) {
	docs, err := document.Parse(body, yaml)
	if err != nil {
		return nil, err
	}
	items := docs
	if len(docs) == 1 && docs[0].Kind == document.List {
		items = docs[0].Items
	}
	if len(items) > maxChanges {
		return nil, fault.Invalidf(0, "More than %d texts in one request", maxChanges)
	}
	seen := map[localizer.Override]bool{}
	changes := make([]localizer.Override, len(items))
	for i, n := range items {
		if changes[i], err = s.one(n); err != nil {
			return nil, err
		}
		if seen[key(changes[i])] {
			return nil, fault.Invalidf(n.At, "%s stands twice", changes[i].Tag)
		}
		seen[key(changes[i])] = true
	}
	return changes, nil
}

// one reads the change of one text.
func (s *Service) one(n document.Node) (o localizer.Override, err error) {
	if n.Kind != document.Map {
		return o, fault.Invalidf(n.At, `A text is set by an object: {"tag", "text", "language"}`)
	}
	for i, name := range n.Keys {
		v := n.Items[i]
		switch name {
		case "tag":
			o.Tag = v.Text
			if v.Kind != document.String || !localizer.IsTag(o.Tag) {
				err = fault.Invalidf(v.At, "tag must be a text of 1 to %d characters"+
					" without commas, brackets, controls and spaces at its ends", localizer.MaxTag)
			}
		case "text":
			o.Text = v.Text
			if v.Kind != document.Null && (v.Kind != document.String || !localizer.IsText(o.Text)) {
				err = fault.Invalidf(v.At, "text must be null, or a text of 1 to %d characters", localizer.MaxText)
			}
		case "language":
			o.Language = v.Text
			if v.Kind != document.Null && (v.Kind != document.String || !slices.Contains(s.languages, o.Language)) {
				err = fault.Invalidf(v.At, "language must be null or one of %v", s.languages)
			}
		default:
			err = fault.Invalidf(v.At, "Invalid key at node(s): root->%s", name)
		}
		if err != nil {
			return o, err
		}
	}
	if _, ok := n.Get("text"); !ok || o.Tag == "" {
		return o, fault.Invalidf(n.At, "tag and text are required")
	}
	return o, nil
}
