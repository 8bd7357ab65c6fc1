package console

import (
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// changeOf applies a change, in the form of a preview, to the old value. It returns the difference
// to show, and the new value for later commands of the same preview. known is true if the old value
// could be read. Spec: interface 4.3.5, 4.3.8.
func changeOf(before, change any, known bool, names map[string]string, d *ui.Differences) (shown []ui.Piece, after any) {
	how, isHow := change.(jsonObject)
	list, many := before.([]any)
	switch {
	case !isHow || !how.has("add") && !how.has("find"):
		return addedPieces(asList(change), names), change // a query as a value is only evaluated when the request runs
	case how.has("find") && many:
		after := swapped(list, how)
		return listDifference(list, after, names), after
	case how.has("find"):
		text, _ := before.(string)
		find, _ := how.get("find").(string)
		becomes, ok := replaced(text, find, shownValue(how.get("replace"), nil))
		if !ok {
			return []ui.Piece{{Text: "a text that is too long to be shown", Added: true}}, nil
		}
		return shortPieces(d.Of(text, becomes)), becomes
	case many || !known && len(asList(how.get("add"))) != 1:
		after := changedList(list, asList(how.get("add")), asList(how.get("remove")))
		if !known {
			list = asList(how.get("remove"))
		}
		return listDifference(list, after, names), after
	}
	becomes := any(nil)
	if one := asList(how.get("add")); len(one) > 0 {
		becomes = one[0]
	}
	return valueDifference(shownValue(before, names), shownValue(becomes, names), d), becomes
}

// maxReplaced limits the bytes of a text after a replacement. Each of several commands could
// make the text a thousand times longer.
const maxReplaced = 1 << 20

// replaced replaces all occurrences of find. ok is false if the result would be too long.
func replaced(text, find, replace string) (becomes string, ok bool) {
	if find == "" {
		return text, true
	}
	if len(text)+strings.Count(text, find)*(len(replace)-len(find)) > maxReplaced {
		return "", false
	}
	return strings.ReplaceAll(text, find, replace), true
}

// valueDifference returns the difference of two values. Short values are shown as a whole, and
// longer values are compared word by word.
func valueDifference(before, after string, d *ui.Differences) []ui.Piece {
	const shortValue = 24
	if before != after && before != "" && after != "" && len(before) <= shortValue && len(after) <= shortValue {
		return []ui.Piece{{Text: before, Removed: true}, {Text: " → "}, {Text: after, Added: true}}
	}
	return shortPieces(d.Of(before, after))
}

// changedList removes values from a list and appends new values that the list does not have.
func changedList(list, add, remove []any) []any {
	gone, has := keysOf(remove), map[string]bool{}
	var after []any
	for _, item := range list {
		if key := keyOf(item); !gone[key] {
			after = append(after, item)
			has[key] = true
		}
	}
	for _, item := range add {
		if key := keyOf(item); !has[key] {
			after = append(after, item)
			has[key] = true
		}
	}
	return after
}

// swapped replaces one value of a list by another.
func swapped(list []any, how jsonObject) []any {
	if !keysOf(list)[keyOf(how.get("find"))] {
		return list
	}
	var add []any
	if replace := how.get("replace"); replace != nil && replace != "" {
		add = []any{replace}
	}
	return changedList(list, add, []any{how.get("find")})
}

// keyOf returns a key that is the same for equal values. For an asset it is the Oid.
func keyOf(v any) string {
	if o, ok := v.(jsonObject); ok && o.has("_oid") {
		v = o.get("_oid")
	}
	return fmt.Sprint(v)
}

func keysOf(values []any) map[string]bool {
	keys := make(map[string]bool, len(values))
	for _, v := range values {
		keys[keyOf(v)] = true
	}
	return keys
}

// listDifference returns all values of both lists. It marks the removed and the added values.
func listDifference(before, after []any, names map[string]string) []ui.Piece {
	var pieces []ui.Piece
	was, is := keysOf(before), keysOf(after)
	for _, item := range before {
		pieces = appendItem(pieces, ui.Piece{Text: shownValue(item, names), Removed: !is[keyOf(item)]})
	}
	for _, item := range after {
		if !was[keyOf(item)] {
			pieces = appendItem(pieces, ui.Piece{Text: shownValue(item, names), Added: true})
		}
	}
	return shortPieces(pieces)
}

// appendItem appends a list item, after a comma if it is not the first.
func appendItem(pieces []ui.Piece, item ui.Piece) []ui.Piece {
	if len(pieces) > 0 {
		pieces = append(pieces, ui.Piece{Text: ", "})
	}
	return append(pieces, item)
}

// addedPieces shows all values as added.
func addedPieces(values []any, names map[string]string) []ui.Piece {
	var pieces []ui.Piece
	for _, v := range values {
		pieces = appendItem(pieces, ui.Piece{Text: shownValue(v, names), Added: true})
	}
	return shortPieces(pieces)
}

// shownValue formats a value for people. An asset is shown by its name if names has it.
func shownValue(v any, names map[string]string) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if name := names[v]; name != "" {
			return name
		}
		if v == oid.Null {
			return ""
		}
		return v
	case jsonObject:
		if token, ok := v.get("_oid").(string); ok {
			return shownValue(token, names)
		}
		return compactJSON(v)
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = shownValue(item, names)
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(v)
}

// shortPieces limits the number of pieces and removes the middle of long pieces.
func shortPieces(pieces []ui.Piece) []ui.Piece {
	if len(pieces) > maxListedAssets {
		pieces = append(pieces[:maxListedAssets:maxListedAssets], ui.Piece{Text: " …"})
	}
	for i, p := range pieces {
		if len(p.Text) <= maxPiece {
			continue
		}
		head, tail := p.Text[:maxPiece/2], p.Text[len(p.Text)-maxPiece/2:]
		pieces[i].Text = strings.ToValidUTF8(head, "") + " … " + strings.ToValidUTF8(tail, "")
	}
	return pieces
}
