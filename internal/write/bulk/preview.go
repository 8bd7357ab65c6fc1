package bulk

import (
	"context"
	"errors"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// previewItem is one projected command as a preview shows it.
type previewItem struct {
	step *step
	text []byte // {"@x": command, without the last brace
}

// denial is a step that failed with fault.Denied.
type denial struct {
	step *step
	err  error
}

// errPreviewed rolls back the transaction of a preview.
var errPreviewed = errors.New("a preview changes nothing")

// preview returns the projected commands as a list. If the caller may not execute a command, the
// command has an error:
//
//	[{"@x": command}, {"@y": command, "error": {"message": "Denied'Story.Create", "sourceCommandIndex": 1}}]
//
// Rights depend on what a command does. Therefore the commands are executed and rolled back,
// unless the caller is a system administrator without bounds.
func (e *Engine) preview(ctx context.Context, who auth.Actor, p payload) ([]byte, error) {
	var items []previewItem
	if who.Admin && who.Bounds == nil || !writes(p.commands) {
		err := e.assets.DB().Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
			pr := &projection{Engine: e, q: tx, who: who, maxAffected: p.cfg.maxAffected, listed: e.newListed()}
			steps, err := pr.project(ctx, p.commands)
			if err == nil {
				items, err = previewItems(steps, p.maxShown(e.MaxShown))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return appendItems(items, nil), nil
	}
	sealed, err := e.seal(ctx, who, p.commands)
	if err != nil {
		return nil, err
	}
	var denials []denial
	req := asset.Request{ID: asset.NewRequestID(), Import: p.cfg.imports, Trial: true}
	err = e.assets.Write(ctx, who, req, func(s *asset.Session) error {
		all := e.newListed()
		pr := &projection{Engine: e, q: s.Tx(), who: who, maxAffected: p.cfg.maxAffected, listed: all, s: s}
		steps, err := pr.project(ctx, p.commands)
		if err != nil {
			return err
		}
		if items, err = previewItems(steps, p.maxShown(e.MaxShown)); err != nil {
			return err
		}
		res := newResult("", e.now(), p, e.MaxShown)
		res.previewed = true
		x := &executor{
			Engine: e, s: s, q: s.Tx(), who: who, res: res,
			aliases: aliasesOf(p.commands), sealed: sealed, listed: all,
		}
		if err := x.run(ctx, steps); err != nil {
			return err
		}
		denials = res.denials
		return errPreviewed
	})
	if !errors.Is(err, errPreviewed) {
		return nil, err
	}
	return appendItems(items, denials), nil
}

// previewItems prints the steps. It must be called before the steps are executed, because
// execution drops their values. Errors: fault.Invalid if the text is longer than limit bytes.
func previewItems(steps []*step, limit int) ([]previewItem, error) {
	var items []previewItem
	size := 0
	for _, s := range steps {
		if s.isLeftOut() || s.inParent {
			continue
		}
		b, as := key([]byte{'{'}, s.label()), shown(s)
		if s.asWritten {
			b = appendNode(b, as.node)
		} else {
			b = appendStep(b, as)
		}
		if size += len(b); size > limit {
			return nil, showsTooMuch(limit)
		}
		items = append(items, previewItem{s, b})
	}
	return items, nil
}

// appendItems returns the items as a JSON list, each with its first denial.
func appendItems(items []previewItem, denials []denial) []byte {
	first := deniedItems(items, denials)
	size := 2
	for _, it := range items {
		size += len(it.text) + 2
	}
	b := append(make([]byte, 0, size), '[')
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.text...)
		if err := first[it.step]; err != nil {
			b = appendError(b, err, it.step.index)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// deniedItems returns the first denial of each step that is shown. A denial of a step that is not
// shown counts for its nearest parent that is shown. Without such a parent, it counts for a shown
// step of the same command.
func deniedItems(items []previewItem, denials []denial) map[*step]error {
	if len(denials) == 0 {
		return nil
	}
	shown, byIndex := map[*step]bool{}, map[int]*step{}
	for _, it := range items {
		shown[it.step], byIndex[it.step.index] = true, it.step
	}
	first := map[*step]error{}
	for _, d := range denials {
		s := d.step
		for s != nil && !shown[s] {
			s = s.parent
		}
		if s == nil {
			s = byIndex[d.step.index]
		}
		if first[s] == nil {
			first[s] = d.err
		}
	}
	return first
}

// appendError appends the error of a command.
//
//	"error":{"message":"...","sourceCommandIndex":0}
func appendError(b []byte, err error, index int) []byte {
	b = append(key(b, "error"), `{"message":`...)
	b = value.AppendString(b, fault.Public(err))
	b = append(b, `,"sourceCommandIndex":`...)
	return append(strconv.AppendInt(b, int64(index), 10), '}')
}
