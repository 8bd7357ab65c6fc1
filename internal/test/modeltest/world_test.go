package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// thing is an asset in the model. It has only the properties that the documents define.
type thing struct {
	label, typ string
	nr         int // order of creation; negative: existed in the new database
	state      int
	val        map[string]string // values that are not null, as text, by attribute
	one        map[string]string // to-one relations: label of the other asset, by attribute
	tags       []string
	versions   int // number of versions; negative: not counted any more
	was        int // state before the deletion
	by         int // number of the deletion; a story and the tasks that were deleted with it have the same number
}

const uncounted = -1 << 20

func (t *thing) clone() *thing {
	c := *t
	c.val, c.one, c.tags = maps.Clone(t.val), maps.Clone(t.one), slices.Clone(t.tags)
	return &c
}

func (t *thing) equal(o *thing) bool {
	return t.state == o.state && maps.Equal(t.val, o.val) && maps.Equal(t.one, o.one) && slices.Equal(t.tags, o.tags)
}

// link is one reference in a to-many relation. The field from is the label of the asset that has the
// relation, attr is the name of the relation, and the field to is the label of the asset that is referred
// to.
type link struct{ attr, from, to string }

// world is the whole content of the model at one time.
type world struct {
	things map[string]*thing
	links  map[link]bool
	roles  map[[2]string]string // by label of project and member: label of the role, with * at its end for an owner
	ranks  map[string][]string  // by rank space: labels, in ascending order of ranks
	logins map[string]string    // by username, in its caseless form: label of the member
	places map[string]int       // by rank space: how often a rank was changed

	deletions int // number of deletions
}

func (w *world) clone() *world {
	c := &world{map[string]*thing{}, maps.Clone(w.links), maps.Clone(w.roles), map[string][]string{}, maps.Clone(w.logins), maps.Clone(w.places), w.deletions}
	for l, t := range w.things {
		c.things[l] = t.clone()
	}
	for s, r := range w.ranks {
		c.ranks[s] = slices.Clone(r)
	}
	return c
}

// gone reports whether an asset is deleted or is in a deleted project.
func (w *world) gone(t *thing) bool {
	if t.state == 255 {
		return true
	}
	at := w.things[t.one["Scope"]]
	switch t.typ {
	case "Scope":
		at = t
	case "Note":
		at = w.things[t.one["SecurityScope"]]
	}
	for ; at != nil; at = w.things[at.one["Parent"]] {
		if at.state == 255 {
			return true
		}
	}
	return false
}

// sorted returns the assets of a type and of its subtypes, in the order of their creation.
func (w *world) sorted(typ string) []*thing {
	var all []*thing
	for _, t := range w.things {
		if isA(t.typ, typ) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *thing) int { return a.nr - b.nr })
	return all
}

// change is the change that one command makes to one asset.
type change struct {
	*world
	rights  *rights
	before  *world           // the world before the command; names are looked up in it
	made    map[alias]string // by alias: labels of the assets that the request created
	me      *thing
	fresh   bool
	imports bool
	names   []string // username before and after, if it changes
	touched bool     // true: me gets a version, because its links, tags, rank or role changed

	holders      map[string]string // by label of an asset that the command relates to me: to-one relation of that asset
	appointments []appointment
}

func violation(what, typ, attr string) error {
	return fmt.Errorf("Violation'%s'%s.%s", what, typ, attr)
}

// set sets one attribute, for a create or an update.
func (c *change) set(name string, v any) error {
	if name == "Order" && rankSpace[c.me.typ] != "" {
		return c.order(v)
	}
	if name == "CreatedBy" {
		return c.createdBy(v)
	}
	a, ok := attrOf(c.me.typ, name)
	if !ok {
		return fmt.Errorf("Unknown AttributeDefinition: %s.%s", c.me.typ, name)
	}
	if a.readOnly {
		return violation("ReadOnly", c.me.typ, name)
	}
	if err, bad := v.(error); bad {
		return err
	}
	switch a.kind {
	case ">":
		return c.toOne(a, v)
	case ">>", "<<", "<":
		return c.toMany(a, v)
	case "*":
		return c.tag(v)
	}
	return c.plain(a, v)
}

// createdBy sets who created an asset. Only a create in an import may do that. Member:20, the
// administrator, is the default and is stored as no value.
func (c *change) createdBy(v any) error {
	a := attr{name: "CreatedBy", kind: ">", to: "Member", says: "Member"}
	if err, bad := v.(error); bad {
		return err
	}
	if !c.imports || !c.fresh {
		return violation("ReadOnly", c.me.typ, a.name)
	}
	v, ok := single(v)
	if !ok {
		return violation("Invalid", c.me.typ, a.name)
	}
	t, err := c.resolve(a, v)
	switch {
	case err != nil:
		return err
	case t == nil:
		return violation("Required", c.me.typ, a.name)
	case t.label == "Member:20":
		delete(c.me.one, a.name)
	default:
		c.me.one[a.name] = t.label
	}
	return nil
}

// single returns the single value in v, for an attribute with one value. v may also be a list with one
// element, or an object with add and remove. It returns false if v has another form.
func single(v any) (any, bool) {
	switch x := v.(type) {
	case []any:
		if len(x) == 1 {
			return x[0], true
		}
		return nil, false
	case obj:
		add, remove, ok := addRemove(x, false)
		switch {
		case !ok || len(add) > 1 || len(add)+len(remove) == 0:
			return nil, false
		case len(add) == 1:
			return add[0], true
		}
		return nil, true
	}
	return v, true
}

// addRemove reads an object such as {"add": ...} or {"Member:20": "add"}. If several is true, null and an
// empty text count as an empty list. ok is false if the object has another form.
func addRemove(o obj, several bool) (add, remove []any, ok bool) {
	for _, p := range o {
		switch {
		case several && nothing(p.val) && (p.key == "add" || p.key == "remove"):
		case p.of != nil && p.val == "add":
			add = append(add, *p.of)
		case p.of != nil && p.val == "remove":
			remove = append(remove, *p.of)
		case strings.HasPrefix(p.key, "@") && p.val == "add":
			add = append(add, alias(p.key))
		case strings.HasPrefix(p.key, "@") && p.val == "remove":
			remove = append(remove, alias(p.key))
		case p.key == "add":
			add = append(add, list(p.val)...)
		case p.key == "remove":
			remove = append(remove, list(p.val)...)
		default:
			return nil, nil, false
		}
	}
	return add, remove, true
}

// findReplace reads an object with find and replace. ok is false if v has another form.
func findReplace(v any) (find, replace any, ok bool) {
	o, is := v.(obj)
	if !is || len(o) != 2 || o[0].key != "find" || o[1].key != "replace" {
		return nil, nil, false
	}
	return o[0].val, o[1].val, true
}

// plain sets an attribute that has a single value and is not a relation.
func (c *change) plain(a attr, v any) error {
	old := c.me.val[a.name]
	if find, replace, ok := findReplace(v); ok {
		if a.kind != "text" || find == "" {
			return violation("Invalid", c.me.typ, a.name)
		}
		v = strings.ReplaceAll(old, find.(string), replace.(string))
		if old == "" && !a.required {
			return nil
		}
	}
	v, ok := single(v)
	if !ok {
		return violation("Invalid", c.me.typ, a.name)
	}
	text, null, err := scalar(a, v)
	if err != "" {
		return violation(err, c.me.typ, a.name)
	}
	if a.required && (null || text == "") && !c.fresh {
		return violation("Required", c.me.typ, a.name)
	}
	if a.name == "Username" && text != old {
		c.names = []string{old, text}
	}
	if a.kind == "?" && !c.fresh && (text == "true") == (old == "true") { // a Boolean that was never written is false
		return nil
	}
	if null {
		delete(c.me.val, a.name)
	} else {
		c.me.val[a.name] = text
	}
	return nil
}

// login checks that a new username is unique, and stores it. It is called at the end of a command.
func (c *change) login() error {
	if c.names == nil {
		return nil
	}
	old, name := c.names[0], c.names[1]
	key := caseless(name)
	if by, taken := c.logins[key]; taken && by != c.me.label && name != "" {
		return violation("NotUnique", c.me.typ, "Username")
	}
	delete(c.logins, caseless(old))
	if name != "" {
		c.logins[key] = c.me.label
	}
	return nil
}

// scalar returns the text that is stored for a value. null is true if the value is null. wrong is the name
// of the violation if the value is refused.
func scalar(a attr, v any) (text string, null bool, wrong string) {
	switch x := v.(type) {
	case nil:
		return "", true, ""
	case string:
		text = x
	case float64:
		text = strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
		text = strconv.FormatBool(x)
	default:
		return "", false, "Invalid"
	}
	if a.kind == "text" {
		if len([]rune(text)) > 4000 && a.name != "Description" && a.name != "Content" && a.name != "Custom_Tale" {
			return "", false, "TooLong"
		}
		return text, false, ""
	}
	if text == "" {
		return "", true, ""
	}
	switch a.kind {
	case "#":
		f, err := strconv.ParseFloat(text, 64)
		if _, is := v.(bool); err != nil || is {
			return "", false, "Invalid"
		}
		return strconv.FormatFloat(f, 'g', -1, 64), false, ""
	case "?":
		if t := strings.ToLower(text); t == "true" || t == "false" {
			return t, false, ""
		}
	case "~":
		if number, unit, _ := strings.Cut(text, " "); strings.Trim(number, "0123456789") == "" && slices.Contains([]string{"Days", "Weeks", "Months"}, unit) {
			return text, false, ""
		}
	case "@":
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			return strconv.FormatInt(day.UnixMicro(), 10), false, ""
		}
	}
	return "", false, "Invalid"
}

// tag adds and removes tags, or replaces one tag by another. Tags that differ only in case count as one
// tag.
func (c *change) tag(v any) error {
	if nothing(v) {
		return nil
	}
	var add, remove []any
	if find, replace, ok := findReplace(v); ok {
		if nothing(find) || !c.tagged(find.(string)) {
			return nil
		}
		remove = []any{find}
		if !nothing(replace) {
			add = []any{replace}
		}
	} else if o, is := v.(obj); is {
		if add, remove, ok = addRemove(o, true); !ok {
			return violation("Invalid", c.me.typ, "TaggedWith")
		}
	} else {
		add = list(v)
	}
	if slices.ContainsFunc(add, nothing) || slices.ContainsFunc(remove, nothing) {
		return violation("Invalid", c.me.typ, "TaggedWith")
	}
	for _, v := range remove {
		n := len(c.me.tags)
		c.me.tags = slices.DeleteFunc(c.me.tags, func(old string) bool { return sameText(old, v.(string)) })
		c.touched = c.touched || len(c.me.tags) != n
	}
	for _, v := range add {
		if text := v.(string); !c.tagged(text) {
			c.me.tags = append(c.me.tags, text)
			c.touched = true
		}
	}
	slices.Sort(c.me.tags)
	return nil
}

func (c *change) tagged(text string) bool {
	return slices.ContainsFunc(c.me.tags, func(old string) bool { return sameText(old, text) })
}

func (c *change) link(a attr, t *thing) link {
	if a.kind == "<<" {
		return link{a.back, t.label, c.me.label}
	}
	return link{a.name, c.me.label, t.label}
}
