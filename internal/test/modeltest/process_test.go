package modeltest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
)

// processAll is the second phase: it executes the steps. The steps of a group are executed together or not
// at all. A group is a step and the creates in its to-one relations. If the step fails after such creates
// have succeeded, decideOrphans decides what happens to these creates. Then processAll undoes the group and
// executes it again.
func (k *work) processAll(all []*step) {
	for len(all) > 0 && !k.over {
		n := groupOf(all)
		for n > 1 {
			before := k.mark()
			for _, s := range all[:n] {
				k.process(s)
			}
			if k.over || !decideOrphans(all[:n]) {
				break
			}
			k.reset(before)
			for _, s := range all[:n] {
				s.done, s.skipped = false, false
			}
		}
		if n == 1 {
			k.process(all[0])
		}
		all = all[n:]
	}
}

// groupOf returns how many steps at the beginning form a group: creates in to-one relations, and the step
// that refers to the created assets (their owner).
func groupOf(all []*step) int {
	end := all[0]
	for end.owner != nil {
		end = end.owner
	}
	return slices.Index(all, end) + 1
}

// decideOrphans finds creates in to-one relations whose owner, the step with the relation, failed or had
// nothing to do. It sets the field fate of each such create to the error with which the create must end. It
// reports whether there are such creates.
func decideOrphans(all []*step) (found bool) {
	for _, s := range slices.Backward(all) {
		if s.owner == nil || !s.done || s.owner.done && !s.owner.skipped {
			continue
		}
		found, s.done, s.fate = true, false, orphan{s.owner}
		if s.owner.skipped {
			s.fate = errLeftOut
		}
		if s.owner.fate == nil {
			s.owner.fate = s.owner.err
		}
	}
	return found
}

// errLeftOut is the value of fate for a create that is left out, because the step with the relation to the
// created asset had nothing to do.
var errLeftOut = errors.New("left out")

// mark returns a copy of the state of the request. reset can return to this state.
func (k *work) mark() *work {
	c := *k
	c.world, c.rights = k.clone(), &rights{}
	*c.rights = *k.rights
	c.in, c.made, c.reached = maps.Clone(k.in), maps.Clone(k.made), maps.Clone(k.reached)
	c.affects = map[int]map[string]bool{}
	for i, labels := range k.affects {
		c.affects[i] = maps.Clone(labels)
	}
	return &c
}

// reset returns to a state that mark has copied.
func (k *work) reset(to *work) {
	world, rights := k.world, k.rights
	*world, *rights = *to.world, *to.rights
	*k = *to
	k.world, k.rights = world, rights
}

// process executes one step.
func (k *work) process(s *step) {
	switch {
	case s.fate == errLeftOut: //nolint:errorlint // never wrapped
		s.skipped = true
	case s.fate != nil:
		k.fail(s, s.fate)
	case s.fail != "":
		k.failures = append(k.failures, failure{step: s, message: s.fail})
	case s.cmd != nil && s.cmd.sel != nil:
		k.query(s)
	case s.later:
		s.later = false
		all := k.expand(s)
		for _, each := range all {
			each.viaTag = s.viaTag
		}
		k.processAll(all)
	default:
		k.carryOut(s)
	}
}

// orphan is the error of a step that fails because the step parent has failed.
type orphan struct{ parent *step }

func (o orphan) Error() string { return "Invalid OID token: of the parent" }

// carryOut executes a step completely or not at all. It also counts the new versions.
func (k *work) carryOut(s *step) {
	before := k.clone()
	skip := false
	c := &change{world: k.world, rights: k.rights, before: before, made: k.made, imports: k.imports, holders: map[string]string{}}
	var err error
	switch {
	case s.create != nil:
		err = k.make(c, s)
	case s.cmd.update != nil:
		skip, err = k.update(c, s)
	default:
		skip, err = k.operate(c, s)
	}
	if err == nil && !skip {
		k.settle()
		err = k.check(c, s)
	}
	if err == nil {
		err = c.login()
	}
	if err != nil {
		*k.world = *before
		k.fail(s, err)
		return
	}
	if s.done, s.skipped = true, skip; skip {
		return
	}
	for _, t := range k.things {
		if c.altered(t) {
			t.versions++
			k.affect(s, t)
		}
	}
	switch {
	case s.create != nil:
		k.created = append(k.created, s.label)
		if s.alias != "" {
			k.made[s.alias] = s.label
		}
	case s.cmd.update != nil:
		k.modified = append(k.modified, s.target)
	default:
		k.operated = append(k.operated, s.target)
		if old := before.things[s.target]; !old.equal(k.things[s.target]) {
			delete(k.reached, s.target)
		}
	}
}

// fail records the failure of a step.
func (k *work) fail(s *step, err error) {
	s.err = err
	f := failure{step: s, message: err.Error()}
	f.reasons, _ = err.(denied)    //nolint:errorlint // never wrapped
	if o, ok := err.(orphan); ok { //nolint:errorlint // never wrapped
		f.orphan = o.parent
	}
	k.failures = append(k.failures, f)
}

// affect counts an asset that a step has changed, for the limit maxAffected of its command. Creates do not
// count.
func (k *work) affect(s *step, t *thing) {
	if k.most == 0 || s.create != nil {
		return
	}
	if k.affects[s.index] == nil {
		k.affects[s.index] = map[string]bool{}
	}
	k.affects[s.index][t.label] = true
	k.over = k.over || len(k.affects[s.index]) > k.most
}

// value returns v with each step replaced by a reference to the asset of the step. A create that failed is
// replaced by its alias, which may now stand for an earlier asset. If it has no alias, it is replaced by an
// error. The attribute with the error then fails.
func value(v any) any {
	switch x := v.(type) {
	case *step:
		switch {
		case !x.done && x.create != nil && x.alias != "":
			return x.alias
		case !x.done:
			return orphan{x}
		}
		if x.create == nil {
			return ref{label: x.target}
		}
		return ref{label: x.label}
	case []any:
		all := make([]any, len(x))
		for i := range x {
			all[i] = value(x[i])
		}
		return all
	}
	return v
}

// make executes a create.
func (k *work) make(c *change, s *step) error {
	var context *thing
	if s.parent != nil {
		if !s.parent.done {
			return orphan{s.parent}
		}
		context = k.things[value(s.parent).(ref).label]
	}
	var own obj
	for _, p := range s.create.attrs {
		own = append(own, pair{key: p.key, val: value(p.val)})
	}
	asked := k.askAll(s.create.typ, own)
	t := k.blank(s.create.label, s.create.typ)
	for k.things[t.label] != nil { // an update of several assets executes its nested create once for each of them
		t.label += "'"
	}
	k.things[t.label] = t
	if t.typ == "Scope" { // from now on the creator has all rights in this project
		k.in[t.label] = meta.SystemAdmin
	}
	c.me, c.fresh, s.label = t, true, t.label
	if space := rankSpace[t.typ]; space != "" {
		k.ranks[space] = append(k.ranks[space], t.label)
	}
	said := map[string]bool{}
	for _, p := range asked {
		said[p.key] = true
		if err := c.set(p.key, p.val); err != nil {
			return err
		}
	}
	if context != nil {
		if err := k.fromContext(c, context, s.back, said); err != nil {
			return err
		}
	}
	k.defaults(t, said)
	if by := t.one["CreatedBy"]; by != "" && t.typ == "Note" {
		t.one["Author"] = by
	}
	k.ownState(t)
	if err := c.period(); err != nil {
		return err
	}
	return k.found(t)
}

// found checks that a new asset has its required attributes. If it is a project, its creator becomes a
// member of the project.
func (k *work) found(t *thing) error {
	for _, a := range attrs[t.typ] {
		_, one := t.one[a.name]
		if a.required && t.val[a.name] == "" && !one {
			return violation("Required", t.typ, a.name)
		}
	}
	l := link{"Members", t.label, k.member}
	if t.typ == "Scope" && !k.links[l] {
		k.links[l] = true
		k.roles[[2]string{t.label, k.member}] = "Role:1*"
	}
	return nil
}

// fromContext sets what a nested create does not set itself: the relation to its parent, its project, and
// texts and dates that its parent suggests. said has the attributes that the create has set.
func (k *work) fromContext(c *change, context *thing, back string, said map[string]bool) error {
	up := context
	if context.typ != "Scope" {
		up = k.things[context.one["Scope"]]
	}
	for _, x := range []struct {
		name string
		up   *thing
	}{{back, context}, {"Scope", up}} {
		a, ok := attrOf(c.me.typ, x.name)
		if !ok || a.kind != ">" || a.readOnly || said[x.name] || x.up == nil {
			continue
		}
		if err := c.point(c.me, a, x.up, true); err != nil {
			return err
		}
	}
	suggest := func(name, v string) {
		if !said[name] && v != "" {
			c.me.val[name] = v
		}
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	switch {
	case context.typ == "Epic" && c.me.one["Super"] == context.label:
		suggest("Name", context.val["Name"])
		suggest("Description", context.val["Description"])
	case context.typ == "Scope" && c.me.typ == "Scope":
		suggest("BeginDate", day(today))
	case context.typ == "Schedule" && c.me.typ == "Timebox":
		if !said["State"] {
			c.me.one["State"] = "State:100"
		}
		if schedule := k.things[c.me.one["Schedule"]]; schedule != nil {
			name, begin, end := k.next(c.me, schedule, today)
			suggest("Name", name)
			if !said["BeginDate"] && !said["EndDate"] {
				suggest("BeginDate", day(begin))
				suggest("EndDate", day(end))
			}
		}
	}
	return nil
}

func day(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// next returns a name and dates for the next timebox of a schedule. The timebox begins after the last one
// and the gap. The parameter but is the new timebox itself, which does not count as the last one.
func (k *work) next(but, schedule *thing, today time.Time) (name string, begin, end time.Time) {
	n, last := 0, int64(0)
	for _, t := range k.sorted("Timebox") {
		if t != but && t.one["Schedule"] == schedule.label && t.state != 255 {
			n++
			at, _ := strconv.ParseInt(t.val["EndDate"], 10, 64)
			last = max(last, at)
		}
	}
	if begin = today; n > 0 {
		begin = after(time.UnixMicro(last).UTC(), schedule.val["TimeboxGap"])
	}
	return fmt.Sprintf("%s %d", schedule.val["Name"], n+1), begin, after(begin, schedule.val["TimeboxLength"])
}

func after(t time.Time, duration string) time.Time {
	var n int
	var unit string
	_, _ = fmt.Sscan(duration, &n, &unit) // an empty duration counts as zero days
	switch unit {
	case "Weeks":
		return t.AddDate(0, 0, 7*n)
	case "Months":
		return t.AddDate(0, n, 0)
	}
	return t.AddDate(0, 0, n)
}

func (k *work) defaults(t *thing, said map[string]bool) {
	fill := func(attr, v string) {
		if t.val[attr] == "" && !said[attr] {
			t.val[attr] = v
		}
	}
	switch t.typ {
	case "Note":
		fill("Personal", "false")
		t.one["Author"] = k.member
	case "Schedule":
		fill("TimeboxLength", "2 Weeks")
		fill("TimeboxGap", "0 Days")
	}
}

// ownState sets what follows from other attributes of the asset: the state of a timebox, and PersonalTo of
// a note.
func (k *work) ownState(t *thing) {
	if state, ok := stateOf[t.one["State"]]; ok && t.typ == "Timebox" && t.state < 200 {
		t.state = state
	}
	if t.typ == "Note" {
		delete(t.one, "PersonalTo")
		if t.val["Personal"] == "true" {
			t.one["PersonalTo"] = t.one["Author"]
		}
	}
}

// askAll replaces the queries in the values of a command by their results. The queries run before the
// command changes anything. A query that fails is replaced by its error, and the attribute then fails.
func (k *work) askAll(typ string, all obj) obj {
	asked := slices.Clone(all)
	for i, p := range all {
		var err error
		if asked[i].val, err = k.ask(typ, p.key, p.val); err != nil {
			asked[i].val = err
		}
	}
	return asked
}

// ask replaces the queries in the value of one attribute by their results.
func (k *work) ask(typ, name string, v any) (any, error) {
	switch x := v.(type) {
	case query:
		found, err := k.find(x.typ, x.where)
		if err != nil {
			return nil, err
		}
		a, _ := attrOf(typ, name)
		if a.kind == ">" || name == "CreatedBy" {
			if len(found) == 0 {
				return nil, violation("Invalid", typ, name)
			}
			return ref{label: found[0].label}, nil
		}
		all := []any{}
		for _, t := range found {
			all = append(all, ref{label: t.label})
		}
		return all, nil
	case []any:
		all := []any{}
		for _, item := range x {
			got, err := k.ask(typ, name, item)
			if err != nil {
				return nil, err
			}
			all = append(all, list(got)...)
		}
		return all, nil
	case obj:
		all := slices.Clone(x)
		for i, p := range x {
			if p.key == "add" || p.key == "remove" {
				got, err := k.ask(typ, name, p.val)
				if err != nil {
					return nil, err
				}
				all[i].val = got
			}
		}
		return all, nil
	}
	return v, nil
}

// reach sets c.me to the target of a step. skip is true if the step has nothing to do, because its target
// was addressed by an alias and is deleted now.
func (k *work) reach(c *change, s *step) (skip bool, err error) {
	c.me = k.things[s.target]
	if k.gone(c.me) && s.viaTag {
		return true, nil
	}
	if k.gone(c.me) && s.cmd.update != nil && !s.dead {
		return false, fmt.Errorf("Invalid OID token: %s", tokenMark+s.target)
	}
	return false, nil
}

// tokenMark in a message is followed by a label. Before messages are compared, the mark and the label
// together are replaced by the Oid of the asset with this label.
const tokenMark = "\x00"

func (k *work) update(c *change, s *step) (skip bool, err error) {
	if skip, err = k.reach(c, s); skip || err != nil {
		return skip, err
	}
	args := slices.Clone(s.args)
	for i, p := range args {
		args[i].val = value(p.val)
	}
	for _, p := range k.askAll(c.me.typ, args) {
		if err := c.set(p.key, p.val); err != nil {
			return false, err
		}
	}
	k.ownState(c.me)
	return false, c.period()
}

// period returns an error if the end date is before the begin date, and the step has changed one of them.
func (c *change) period() error {
	begin, end := c.me.val["BeginDate"], c.me.val["EndDate"]
	if old := c.before.things[c.me.label]; old != nil && old.val["BeginDate"] == begin && old.val["EndDate"] == end {
		return nil
	}
	from, _ := strconv.ParseInt(begin, 10, 64)
	to, _ := strconv.ParseInt(end, 10, 64)
	if begin != "" && end != "" && to < from {
		return violation("Invalid", c.me.typ, "EndDate")
	}
	return nil
}

// query executes a query. It sees the changes of earlier commands of the request.
func (k *work) query(s *step) {
	c := s.cmd
	found, _, err := k.address(c)
	if err == nil {
		for _, name := range c.sel {
			if name == "Nonsense" {
				typ, _ := c.from.(string)
				err = fmt.Errorf("Unknown AttributeDefinition: %s.Nonsense", typ)
			}
		}
	}
	if err != nil {
		k.failures = append(k.failures, failure{step: s, message: err.Error()})
		return
	}
	rows := []map[string]any{}
	for _, t := range c.inOrder(found) {
		if k.gone(t) && !hasKey(c.where, "IsDeleted") || !k.visible(k.world, t) {
			continue
		}
		row := map[string]any{"_oid": t.label}
		for _, name := range c.sel {
			row[name] = k.cell(t, name)
		}
		rows = append(rows, row)
	}
	k.results = append(k.results, rows)
}

func hasKey(o obj, key string) bool {
	return slices.ContainsFunc(o, func(p pair) bool { return p.key == key })
}

// cell returns one value of a row. It has labels instead of Oids.
func (k *work) cell(t *thing, name string) any {
	switch name {
	case "Scope":
		if l := t.one[name]; l != "" && k.visible(k.world, k.things[l]) {
			return map[string]any{"_oid": l}
		}
		return nil
	case "Owners":
		all := []any{}
		for _, m := range k.sorted("Member") {
			if k.links[link{"Owners", t.label, m.label}] && m.state != 255 && k.visible(k.world, m) {
				all = append(all, map[string]any{"_oid": m.label})
			}
		}
		return all
	}
	if a, ok := customAttr(name); ok {
		return k.customCell(t, a)
	}
	if v, has := t.val[name]; has {
		return v
	}
	return nil
}
