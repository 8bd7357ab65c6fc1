package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// notOfEpics are the attributes of a story that mean nothing on an epic.
func notOfEpics(name string) bool {
	return name != "Timebox" && name != "ToDo" && name != "DetailEstimate"
}

// breakDown turns a story into an epic, which takes its place; the story stays
// behind as the model's effect leaves it.
func (r *run) breakDown(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	epic, err := r.newRowOf(ctx, "Epic")
	if err == nil {
		err = r.copyAttributes(ctx, epic, w, notOfEpics)
	}
	if err != nil {
		return nil, err
	}
	from, has := w.typ.Attr("Estimate")
	if to, ok := epic.typ.Attr("Swag"); ok && has {
		epic.set(to, w.get(from))
	}
	if err := r.completeNew(ctx, epic); err != nil {
		return nil, err
	}
	if a, ok := w.typ.Attr("MorphedInto"); ok {
		err = r.setRefToRow(ctx, w, a, epic)
	}
	return epic, err
}

// epicToStory takes a story back from the epic it was turned into, which is
// deleted. The model's filter keeps an epic that has something below it.
func (r *run) epicToStory(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	into, ok := w.typ.Attr("MorphedInto")
	if !ok {
		return nil, unknownAttr(w.typ, "MorphedInto")
	}
	id, err := r.pointsTo(ctx, w, into)
	if err != nil {
		return nil, err
	}
	if was, ok := w.typ.Attr("WasAnEpic"); ok {
		w.set(was, true)
	}
	if id == noID {
		return nil, nil
	}
	epic, ok, err := r.lock(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	r.changes.touch(epic)
	epic.setState(stateDeleted)
	return nil, r.setRef(ctx, w, into, nil)
}

// generateSub makes a story or an epic below an epic, called like it. A story
// has nothing below it: what it generates comes to stand beside it.
func (r *run) generateSub(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	sub, err := r.newRowOf(ctx, op.Effect.Result)
	if err != nil {
		return nil, err
	}
	names := []string{"Name", "Scope", "Parent", "Team", "Super"}
	super, ok := sub.typ.Attr("Super")
	under := ok && super.Takes(w.typ)
	if under {
		names = names[:4]
	}
	if err := r.copyAttributes(ctx, sub, w, only(names...)); err != nil {
		return nil, err
	}
	if under {
		if err := r.setRefToRow(ctx, sub, super, w); err != nil {
			return nil, err
		}
	}
	return sub, r.completeNew(ctx, sub)
}

// convertToDefect makes a defect of a story, with its tasks and tests; the
// model's effect deletes the story.
func (r *run) convertToDefect(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	defect, err := r.newRowOf(ctx, "Defect")
	if err == nil {
		err = r.copyAttributes(ctx, defect, w, everything)
	}
	if err == nil {
		err = r.completeNew(ctx, defect)
	}
	if err == nil {
		err = r.moveChildren(ctx, w, defect, func(*row) bool { return true })
	}
	return defect, err
}

// convertToTeam makes a team called like a project.
func (r *run) convertToTeam(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	team, err := r.newRowOf(ctx, "Team")
	if err == nil {
		err = r.copyAttributes(ctx, team, w, only("Name", "Description"))
	}
	if err == nil {
		err = r.completeNew(ctx, team)
	}
	return team, err
}

// copyRegressionTests makes one test below a test set for every regression
// test of its suite.
func (r *run) copyRegressionTests(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	suiteAttr, ok := w.typ.Attr("RegressionSuite")
	if !ok {
		return nil, unknownAttr(w.typ, "RegressionSuite")
	}
	suite, err := r.pointsTo(ctx, w, suiteAttr)
	if err != nil || suite == noID {
		return nil, err
	}
	ids, err := r.linkedTo(ctx, "RegressionTest", "RegressionSuites", suite)
	if err == nil {
		err = r.loadRows(ctx, append([]int64(nil), ids...))
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		src := r.rows[id]
		if src == nil || src.cur.code == stateDeleted {
			continue
		}
		if err := r.copyTest(ctx, w, src); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// copyTest makes a test below a test set from a regression test.
func (r *run) copyTest(ctx context.Context, set, src *row) error {
	test, err := r.newRowOf(ctx, "Test")
	if err == nil {
		err = r.setParent(ctx, test, set)
	}
	if err == nil {
		err = r.copyAttributes(ctx, test, src, func(name string) bool { return name != "Parent" && name != "Scope" })
	}
	if err != nil {
		return err
	}
	if a, ok := test.typ.Attr("GeneratedFrom"); ok {
		if err := r.setRefToRow(ctx, test, a, src); err != nil {
			return err
		}
	}
	return r.completeNew(ctx, test)
}

// linkedTo returns the assets of a type whose relation names an asset, in id order.
func (r *run) linkedTo(ctx context.Context, typ, relation string, to int64) ([]int64, error) {
	t, ok := r.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	a, ok := t.Attr(relation)
	if !ok {
		return nil, unknownAttr(t, relation)
	}
	rows, err := r.s.tx.Query(ctx, `SELECT from_id FROM asset_link WHERE relation = ? AND to_id = ? AND until_moment = ? ORDER BY from_id`,
		a.Place.Code, to, forever)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", typ, err)
	}
	return idsOf(rows)
}

func idsOf(rows *db.Rows) ([]int64, error) {
	var ids []int64
	err := each(rows, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// send gives every recipient of a message who has none a receipt.
func (r *run) send(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("Recipients")
	if !ok {
		return nil, unknownAttr(w.typ, "Recipients")
	}
	h, err := r.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return nil, err
	}
	done, err := r.withReceipt(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, l := range h.current(a.Place.Code) {
		if done[l.to] {
			continue
		}
		if err := r.receipt(ctx, w, l.to); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// withReceipt returns the members who have a receipt of a message.
func (r *run) withReceipt(ctx context.Context, w *row) (map[int64]bool, error) {
	ids, err := r.linkedTo(ctx, "MessageReceipt", "Message", w.id)
	if err == nil {
		err = r.loadRows(ctx, append([]int64(nil), ids...))
	}
	if err != nil {
		return nil, err
	}
	done := map[int64]bool{}
	for _, id := range ids {
		src := r.rows[id]
		if src == nil || src.cur.code == stateDeleted {
			continue
		}
		if a, ok := src.typ.Attr("Recipient"); ok {
			to, err := r.pointsTo(ctx, src, a)
			if err != nil {
				return nil, err
			}
			done[to] = true
		}
	}
	return done, nil
}

func (r *run) receipt(ctx context.Context, w *row, member int64) error {
	made, err := r.newRowOf(ctx, "MessageReceipt")
	if err != nil {
		return err
	}
	of, ok := made.typ.Attr("Message")
	if !ok {
		return unknownAttr(made.typ, "Message")
	}
	if err := r.setRefToRow(ctx, made, of, w); err != nil {
		return err
	}
	to, ok := made.typ.Attr("Recipient")
	if !ok {
		return unknownAttr(made.typ, "Recipient")
	}
	if err := r.copyRef(ctx, made, to, member); err != nil {
		return err
	}
	for _, name := range [...]string{"IsRead", "IsArchived"} {
		if a, ok := made.typ.Attr(name); ok {
			made.set(a, false)
		}
	}
	return r.completeNew(ctx, made)
}
