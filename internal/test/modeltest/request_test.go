package modeltest

import (
	"fmt"
	"slices"
	"strings"
)

// step is one step of a command: in the first phase, each command becomes one or more steps.
type step struct {
	index  int
	cmd    *command
	create *create // without its nested creates, which become separate steps
	parent *step   // of a nested create: the step in which it is nested
	back   string  // of a nested create: its attribute that refers to the parent
	owner  *step   // of a create in a to-one relation: the step with the relation; if it fails, nothing is created
	fate   error   // error with which the step must end, known from an earlier try; see processAll
	alias  alias
	target string // label of the asset that an update or an operation changes
	dead   bool   // true: the target was already deleted when it was found, so that is no error
	later  bool   // true: the target is found only when the step is executed
	viaTag bool   // true: the target has an alias; if it is deleted, nothing happens
	args   obj
	fail   string

	done    bool
	skipped bool   // true: there was nothing to do
	err     error  // why the step failed
	label   string // label of the created asset; for an update: type of its target
}

// failure is a failed step, with the expected message.
type failure struct {
	step    *step
	message string
	orphan  *step // if not nil, the message must have the alias of this step
	reasons denied
}

// answer is what the model expects as the response. It has labels instead of Oids.
type answer struct {
	created, modified, operated []string
	failures                    []failure
	results                     [][]map[string]any
	refused                     bool // true: the whole request is refused
	over                        bool // true: a command would change more assets than maxAffected
}

// work is the state of the model while it executes one request.
type work struct {
	*world
	*rights
	most    int // maxAffected
	imports bool
	defined map[alias]bool
	taken   map[alias]bool // aliases that earlier steps define
	made    map[alias]string
	affects map[int]map[string]bool // by index of the command: labels of the assets that its steps have changed
	reached map[string]string       // by label of a task: operation on its story that last changed the task
	answer
}

// run executes a request on the model and returns the expected answer. It changes the world.
func (w *world) run(r *request) answer {
	before := w.clone()
	if r.imports && !w.rightsOf(r.by).admin() {
		return answer{refused: true}
	}
	k := &work{world: w, rights: w.rightsOf(r.by), most: r.most, imports: r.imports, defined: r.aliases(), taken: map[alias]bool{}, made: map[alias]string{}, affects: map[int]map[string]bool{}, reached: map[string]string{}}
	var steps []*step
	for i, c := range r.commands {
		if r.config() {
			i++ // the config document counts as a command
		}
		projected := k.project(i, c)
		if r.preview && c.create != nil && c.create.alias == "" {
			for _, s := range projected { // in a preview, these creates become separate commands
				s.owner = nil
			}
		}
		steps = append(steps, projected...)
	}
	for _, s := range steps {
		if s.create != nil && s.alias != "" && s.fail == "" {
			if k.taken[s.alias] {
				s.fail = "Duplicate alias: " + string(s.alias)
			}
			k.taken[s.alias] = true
		}
	}
	if k.processAll(steps); k.over {
		*w = *before
		return answer{over: true}
	}
	if r.atomic && len(k.failures) > 0 {
		*w = *before
		return answer{failures: k.failures}
	}
	if !w.administered() {
		*w = *before
		return answer{refused: true}
	}
	return k.answer
}

// project is the first phase for one command: it returns the steps of the command.
func (k *work) project(index int, c *command) []*step {
	s := &step{index: index, cmd: c}
	from, tagged := c.from.(alias)
	switch {
	case c.junk != "":
		s.fail = c.want
		if strings.Contains(c.junk, `"from": "Scope:0"`) && !k.visible(k.world, k.things["Scope:0"]) {
			s.fail = "Invalid OID token: Scope:0"
		}
		return []*step{s}
	case c.create != nil:
		return k.flatten(index, c.create, nil, "")
	case c.sel != nil:
		return []*step{s}
	case c.alias != "" || tagged || names(c.where, k.defined) || names(c.update, k.defined) || slices.ContainsFunc(c.args, func(o obj) bool { return names(o, k.defined) }):
		s.later = true
		s.viaTag = tagged && c.where == nil
		s.alias = from
		return []*step{s}
	}
	return k.expand(s)
}

// flatten returns the steps of a create: first the creates in its to-one relations, then the create itself,
// then the other nested creates. Each nested create is followed by the creates nested in it.
func (k *work) flatten(index int, c *create, parent *step, back string) []*step {
	s := &step{index: index, parent: parent, back: back, alias: alias(c.alias)}
	own := &create{label: c.label, alias: c.alias, typ: c.typ}
	s.create = own
	switch {
	case len(above[c.typ]) == 0 && tables[c.typ] == "" && c.typ != "Workitem":
		s.fail = "Unknown AssetType: " + c.typ
	case tables[c.typ] == "":
		s.fail = "Abstract AssetType: " + c.typ
	}
	var ahead, behind []*step
	for _, p := range c.attrs {
		rest, before, below := k.split(index, c.typ, s, p)
		if rest.key != "" {
			own.attrs = append(own.attrs, rest)
		}
		ahead, behind = append(ahead, before...), append(behind, below...)
	}
	if parent != nil && back != "" {
		s.nameParent(parent, back)
	}
	return append(append(ahead, s), behind...)
}

// split separates the creates that are nested in an attribute from its other values. ahead has the steps of
// a create in a to-one relation, which come before the step that has the relation. below has the steps of
// other nested creates, which come after their parent.
func (k *work) split(index int, typ string, parent *step, p pair) (own pair, ahead, below []*step) {
	if inner, ok := p.val.(*create); ok {
		if a, _ := attrOf(typ, p.key); a.kind == ">" {
			ahead = k.flatten(index, inner, nil, "")
			made := ahead[slices.IndexFunc(ahead, func(s *step) bool { return s.create.label == inner.label })]
			made.owner = parent
			return pair{key: p.key, val: made}, ahead, nil
		}
	}
	var rest []any
	for _, v := range list(p.val) {
		inner, ok := v.(*create)
		if !ok {
			rest = append(rest, v)
			continue
		}
		a, _ := attrOf(typ, p.key)
		below = append(below, k.flatten(index, inner, parent, reciprocal(typ, a))...)
	}
	switch {
	case below == nil:
		return p, nil, nil
	case rest == nil:
		return pair{}, nil, below
	}
	return pair{key: p.key, val: rest}, nil, below
}

// reciprocal returns the name of the attribute at the other end of a relation, or "" if there is none.
func reciprocal(typ string, a attr) string {
	if a.back != "" {
		return a.back
	}
	to := a.to
	if to == "Dependent" {
		to = "Story" // all types of Dependent have the same attribute
	}
	for _, b := range attrs[to] {
		if b.kind == "<<" && b.back == a.name && isA(typ, b.to) {
			return b.name
		}
	}
	return ""
}

// implied reports whether a nested create gets the attribute from its parent without naming it.
func implied(child, parent, name string) bool {
	a, ok := attrOf(child, name)
	if !ok || a.kind != ">" || a.readOnly || !isA(parent, a.to) {
		return false
	}
	return name == "Super" || name == "Schedule" || name == "Scope" || name == "Asset" || name == "Parent" && a.required
}

// nameParent adds the parent to the attributes of a nested create, unless implied is true. It does not
// change a to-one relation that the create sets itself.
func (s *step) nameParent(parent *step, back string) {
	typ := ""
	if parent.create != nil {
		typ = parent.create.typ
	} else {
		typ = parent.label
	}
	if implied(s.create.typ, typ, back) {
		return
	}
	for i, p := range s.create.attrs {
		if p.key == back {
			if a, _ := attrOf(s.create.typ, back); a.kind != ">" {
				s.create.attrs[i].val = []any{parent}
				if !nothing(p.val) {
					s.create.attrs[i].val = append([]any{parent}, list(p.val)...)
				}
			}
			return
		}
	}
	s.create.attrs = append(s.create.attrs, pair{key: back, val: parent})
}

// expand finds the assets that an update or an operation changes. It returns a step for each of them,
// together with the steps of nested creates.
func (k *work) expand(s *step) []*step {
	c := s.cmd
	targets, plain, err := k.address(c)
	if n := len(targets); err == nil && k.most > 0 && n > k.most && !plain {
		err = fmt.Errorf("The command affects %d assets, more than maxAffected: %d.", n, k.most)
	}
	if err != nil {
		s.fail = err.Error()
		steps := []*step{s}
		for i := 1; plain && i < len(c.args); i++ { // each element of the list fails
			steps = append(steps, &step{index: s.index, cmd: c, fail: s.fail})
		}
		if r, ok := c.from.(ref); ok && plain {
			for _, p := range c.update {
				_, ahead, below := k.split(s.index, r.typ, s, p)
				steps = append(append(ahead, steps...), below...)
			}
		}
		return steps
	}
	var steps []*step
	if len(targets) == 0 {
		if err := unknownName(c, k.typeOf(c.from)); err != nil {
			s.fail = err.Error()
			return []*step{s}
		}
	}
	for _, t := range targets {
		if plain && k.gone(t) {
			if err := unknownName(c, t.typ); err != nil {
				for range max(1, len(c.args)) { // each element of the list fails
					steps = append(steps, &step{index: s.index, cmd: c, fail: err.Error()})
				}
			}
			continue
		}
		if c.update == nil {
			calls := c.args
			if calls == nil {
				calls = []obj{nil}
			}
			for _, args := range calls {
				steps = append(steps, &step{index: s.index, cmd: c, target: t.label, dead: k.gone(t), args: args})
			}
			continue
		}
		each := &step{index: s.index, cmd: c, target: t.label, dead: k.gone(t), label: t.typ}
		var below []*step
		for _, p := range c.update {
			rest, ahead, more := k.split(s.index, t.typ, each, p)
			if rest.key != "" {
				each.args = append(each.args, rest)
			}
			steps, below = append(steps, ahead...), append(below, more...)
		}
		steps = append(append(steps, each), below...)
	}
	return steps
}

// unknownName is for a command that finds no asset. It returns an error if no type that the command could
// find has the operation or an attribute of the command.
func unknownName(c *command, typ string) error {
	types := []string{typ}
	switch typ {
	case "Workitem":
		types = []string{"Story", "Task"}
	case "PrimaryWorkitem":
		types = []string{"Story"}
	}
	if c.update == nil {
		has := func(t string) bool { return knows(operations[t], c.op) || knows(copying[t], c.op) }
		if !slices.ContainsFunc(types, has) {
			return fmt.Errorf("Unknown Operation '%s.%s'", typ, c.op)
		}
		return nil
	}
	for _, p := range c.update {
		has := func(t string) bool {
			_, ok := attrOf(t, p.key)
			return ok || p.key == "CreatedBy" || p.key == "Order" && rankSpace[t] != ""
		}
		if !slices.ContainsFunc(types, has) {
			return fmt.Errorf("Unknown AttributeDefinition: %s.%s", typ, p.key)
		}
	}
	return nil
}

func knows(all map[string]operation, op string) bool { _, ok := all[op]; return ok }

// typeOf returns the type of the assets that a command is about.
func (k *work) typeOf(from any) string {
	switch x := from.(type) {
	case ref:
		return x.typ
	case alias:
		if t := k.things[k.made[x]]; t != nil {
			return t.typ
		}
	case string:
		return x
	}
	return ""
}

// address returns the assets that a command or query is about. plain is true if the command names one asset
// and has no condition.
func (k *work) address(c *command) (found []*thing, plain bool, err error) {
	typ := ""
	switch x := c.from.(type) {
	case ref:
		t := k.things[x.label]
		if t != nil && !k.visible(k.world, t) {
			if c.where == nil {
				return nil, true, fmt.Errorf("Invalid OID token: %s", tokenMark+x.label)
			}
			t = nil
		}
		if t == nil && c.where == nil {
			return nil, true, fmt.Errorf("Invalid OID token: %s", nobody(x))
		}
		if t == nil {
			_, err := k.find(x.typ, c.where)
			return nil, false, err
		}
		if c.where == nil {
			return []*thing{t}, true, nil
		}
		typ = t.typ
		found, err = k.find(typ, c.where)
		return slices.DeleteFunc(found, func(o *thing) bool { return o != t }), false, err
	case alias:
		label, ok := k.made[x]
		if !ok {
			return nil, true, fmt.Errorf("Invalid OID token: %s", x)
		}
		t := k.things[label]
		if c.where == nil {
			return []*thing{t}, true, nil
		}
		found, err = k.find(t.typ, c.where)
		return slices.DeleteFunc(found, func(o *thing) bool { return o != t }), false, err
	case string:
		typ = x
	}
	if tables[typ] == "" && typ != "Workitem" && typ != "PrimaryWorkitem" {
		return nil, false, fmt.Errorf("Unknown AssetType: %s", typ)
	}
	found, err = k.find(typ, c.where)
	return found, false, err
}

// find returns the visible assets that match a query. Deleted assets match only if the query has a
// condition on IsDeleted.
func (k *work) find(typ string, where obj) ([]*thing, error) {
	for _, p := range where {
		if p.key == "Nonsense" {
			return nil, fmt.Errorf("Invalid QueryFilter2 token Nonsense='%v'", p.val)
		}
		if r, ok := p.val.(ref); ok && r.typ != "Scope" && r.typ != "Custom_HueType" {
			return nil, fmt.Errorf("Invalid QueryFilter2 token %s='%s'", p.key, r.label)
		}
		if a, ok := p.val.(alias); ok {
			if _, made := k.made[a]; !made {
				return nil, fmt.Errorf("Invalid OID token: %s", a)
			}
		}
	}
	var found []*thing
	for _, t := range k.sorted(typ) {
		fits, dead := true, false
		for _, p := range where {
			if p.key == "IsDeleted" {
				dead = true
				fits = fits && (t.state == 255) == p.val.(bool)
				continue
			}
			if a, ok := customAttr(p.key); ok {
				fits = fits && fitsCustom(t, a, p.val)
				continue
			}
			switch v := p.val.(type) {
			case alias:
				fits = fits && t.one[p.key] == k.made[v]
			case ref:
				fits = fits && k.things[v.label] != nil && t.one[p.key] == v.label
			case string:
				got, has := t.val[p.key]
				fits = fits && has && sameText(got, v)
			}
		}
		if fits && (dead || !k.gone(t)) && k.visible(k.world, t) {
			found = append(found, t)
		}
	}
	return found, nil
}
