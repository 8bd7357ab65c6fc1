package modeltest

import (
	"fmt"
	"slices"
)

func (k *work) operate(c *change, s *step) (skip bool, err error) {
	if skip, err = k.reach(c, s); skip || err != nil {
		return skip, err
	}
	t := c.me
	op, ok := operations[t.typ][s.cmd.op]
	makes, copies := copying[t.typ][s.cmd.op]
	if copies {
		op, ok = makes, true
	}
	if !ok {
		return false, fmt.Errorf("Unknown Operation '%s.%s'", t.typ, s.cmd.op)
	}
	if !op.fits(t.state) && k.reached[t.label] == s.cmd.op {
		return false, nil // the operation on the story has already changed this task
	}
	if opens(s.cmd.op) && op.to == t.state {
		return false, nil // the asset is already in the state that the operation sets
	}
	if !op.fits(t.state) || k.mustStay(t) && op.to >= 128 || copies && k.misses(t) {
		return false, fmt.Errorf("Invalid Operation '%s.%s'", t.typ, s.cmd.op)
	}
	if op.set != "" {
		t.one["State"] = op.set
	}
	switch s.cmd.op {
	case "Delete":
		k.remove(t)
	case "Undelete":
		k.bringBack(t)
	default:
		if op.to >= 0 {
			t.state = op.to
		}
	}
	if copies {
		return false, k.copies(c, s.cmd.op)
	}
	switch s.cmd.op {
	case "QuickClose":
		k.quickClose(t)
	case "QuickSignup":
		return false, c.set("Owners", ref{label: k.member})
	case "AssignMemberWithRole", "AssignToScopeWithRole":
		return false, k.assign(c, s.args)
	}
	return false, nil
}

func (k *work) quickClose(t *thing) {
	finish := func(t *thing) {
		if _, has := t.val["ToDo"]; has {
			t.val["ToDo"] = "0"
		}
	}
	finish(t)
	for _, child := range k.things {
		if child.typ == "Task" && child.one["Parent"] == t.label && child.state == 64 {
			child.state = 128
			finish(child)
		}
	}
}

// assign executes an operation that gives a member a role in a project. If necessary, it first adds the
// member to the project.
func (k *work) assign(c *change, args obj) error {
	var member, scope, role *thing
	owner := ""
	for _, p := range args {
		if p.key == "IsOwner" {
			if p.val == true {
				owner = "*"
			}
			continue
		}
		v := p.val
		if q, ok := v.(query); ok {
			found, _ := k.find(q.typ, q.where)
			if len(found) == 0 {
				return violation("Invalid", c.me.typ, p.key)
			}
			v = ref{label: found[0].label}
		}
		t, err := c.resolve(attr{name: p.key, to: p.key, says: p.key}, v)
		switch {
		case err != nil:
			return err
		case t == nil:
			return violation("Required", c.me.typ, p.key)
		case p.key == "Member":
			member = t
		case p.key == "Scope":
			scope = t
		default:
			role = t
		}
	}
	if c.me.typ == "Scope" {
		scope = c.me
	} else {
		member = c.me
	}
	k.links[link{"Members", scope.label, member.label}] = true
	c.appoint(scope.label, member.label, role.label+owner)
	c.touched = true
	return nil
}

// opens reports whether an operation does nothing but open or close an asset.
func opens(name string) bool {
	return slices.Contains([]string{"Inactivate", "Reactivate", "Activate", "Close", "MakeFuture"}, name)
}

func (o operation) fits(state int) bool {
	if len(o.from) == 0 {
		return state != 255
	}
	return slices.Contains(o.from, state)
}

// mustStay reports whether an asset is one that can never be closed or deleted.
func (k *work) mustStay(t *thing) bool { return t.label == "Scope:0" || t.label == "Member:20" }

// misses reports whether a copy of the asset would lack what it needs: a project that is not deleted or,
// for a task, a parent that is not deleted.
func (k *work) misses(t *thing) bool {
	up := k.things[t.one["Scope"]]
	if t.typ == "Task" {
		up = k.things[t.one["Parent"]]
	}
	return up == nil || k.gone(up)
}

// remove deletes an asset. If it is a story, it also deletes its tasks.
func (k *work) remove(t *thing) {
	k.deletions++
	t.was, t.state, t.by = t.state, 255, k.deletions
	for _, task := range k.things {
		if task.typ == "Task" && task.one["Parent"] == t.label && task.state != 255 {
			task.was, task.state, task.by = task.state, 255, t.by
			k.reached[task.label] = "Delete"
		}
	}
}

// bringBack undeletes an asset, and the tasks that were deleted together with it.
func (k *work) bringBack(t *thing) {
	for _, task := range k.things {
		if task.typ == "Task" && task.one["Parent"] == t.label && task.state == 255 && task.by == t.by {
			task.state, task.by = task.was, 0
			k.reached[task.label] = "Undelete"
		}
	}
	t.state, t.by = t.was, 0
	k.ownState(t)
}
