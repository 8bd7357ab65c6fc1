package meta

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxCustom is the maximum number of lists and attributes that administrators can add,
// including retired ones. Each of them makes every model and every description larger.
const MaxCustom = 1000

// customName is the form of all names that administrators choose. No name of the built-in
// model has this form.
var customName = regexp.MustCompile(`^Custom_[A-Za-z0-9_]{1,60}$`)

// MisfitError is the reason why something cannot be added to the model.
type MisfitError struct {
	Member string // the attribute of the definition that is the reason
	Reason string
}

// Error returns the reason.
func (m *MisfitError) Error() string { return m.Reason }

func misfit(member, format string, args ...any) error {
	return &MisfitError{member, fmt.Sprintf(format, args...)}
}

// CheckList returns why a list cannot be added to c, or nil.
// Errors: *MisfitError.
func (m *Model) CheckList(c Custom, added CustomList) error {
	if err := checkName("Name", added.Name); err != nil {
		return err
	}
	if c.size() >= MaxCustom {
		return tooMany()
	}
	for _, l := range c.Lists {
		if strings.EqualFold(l.Name, added.Name) && !l.Purged {
			return misfit("Name", "there is a %s%s", l.Name, outOfUse(l.Retired))
		}
	}
	c.Lists = append(slices.Clip(c.Lists), added)
	_, left, err := m.extend(c)
	if err != nil {
		return err
	}
	return whyLeftOut(left, added.ID)
}

// CheckAttribute returns why an attribute cannot be added to c, or nil. Its name or form may be
// invalid, the name may be taken, or a deleted attribute of this name may have had another meaning.
// A name is taken if the type, or a type above or below it, has an attribute of this name.
// Errors: *MisfitError.
func (m *Model) CheckAttribute(c Custom, added CustomAttribute) error {
	if err := added.checkForm(); err != nil {
		return err
	}
	if c.size() >= MaxCustom {
		return tooMany()
	}
	with := c
	with.Attributes = append(slices.Clip(c.Attributes), added)
	extended, left, err := m.extend(with)
	if err != nil {
		return err
	}
	t, ok := extended.Type(added.Type)
	if !ok || t.Metadata {
		return misfit("Asset", "no attribute is added to %s", added.Type)
	}
	if added.Kind == Relation {
		if related, ok := extended.Type(added.To); !ok || related.Metadata {
			return misfit("RelatedAssetType", "no relation leads to %s", added.To)
		}
	}
	for _, other := range c.Attributes {
		if err := extended.clash(added, other); err != nil {
			return err
		}
	}
	return whyLeftOut(left, added.ID)
}

// size returns the number of definitions that count for MaxCustom.
func (c *Custom) size() int {
	n := len(c.Lists)
	for _, a := range c.Attributes {
		if !a.Purged {
			n++
		}
	}
	return n
}

func tooMany() error {
	return misfit("Name", "there are %d lists and attributes already, those out of use included", MaxCustom)
}

func checkName(member, name string) error {
	if !customName.MatchString(name) {
		return misfit(member, "a name is Custom_ and 1 to 60 letters, digits and underscores")
	}
	return nil
}

// checkForm checks the parts of the definition that need no comparison with the model.
func (c *CustomAttribute) checkForm() error {
	if err := checkName("Name", c.Name); err != nil {
		return err
	}
	switch {
	case !slices.Contains(customKinds, c.Kind):
		return misfit("AttributeType", "it is one of Text, LongText, Numeric, Date, Boolean, Relation")
	case c.DateOnly && c.Kind != Date:
		return misfit("IsDateOnly", "only a Date is one without a time of day")
	case c.Required && c.Many:
		return misfit("IsRequired", "a relation to many is never required")
	case c.Back == "":
		return nil
	case strings.EqualFold(c.Back, c.Name):
		return misfit("ReverseName", "it is the name of the attribute itself")
	}
	return checkName("ReverseName", c.Back)
}

// namePlace is a name that a definition introduces: the name of the attribute on its type, or the
// name of the reciprocal on the related type.
type namePlace struct {
	on           *Type
	name, member string
}

func (m *Model) namesOf(c CustomAttribute) []namePlace {
	all := []namePlace{{m.typeNamed(c.Type), c.Name, "Name"}}
	if c.Back != "" {
		all = append(all, namePlace{m.typeNamed(c.To), c.Back, "ReverseName"})
	}
	return all
}

// clash returns an error if added and other have a name in common. If other was deleted together
// with its data, an attribute with the same meaning may have its names.
func (m *Model) clash(added, other CustomAttribute) error {
	for _, p := range m.namesOf(added) {
		for _, q := range m.namesOf(other) {
			if p.on == nil || q.on == nil || !strings.EqualFold(p.name, q.name) || !p.on.IsA(q.on) && !q.on.IsA(p.on) {
				continue
			}
			switch {
			case !other.Purged:
				return misfit(p.member, "%s has a %s%s", q.on.Name, q.name, outOfUse(other.Retired))
			case p.member != q.member || !added.means(other):
				return misfit(p.member, "%s had a %s, which was %s; a name keeps its meaning", q.on.Name, q.name, other.meaning())
			}
		}
	}
	return nil
}

func outOfUse(retired bool) string {
	if retired {
		return " that is out of use"
	}
	return " already"
}

// means reports whether two attributes have the same name and meaning.
func (c *CustomAttribute) means(o CustomAttribute) bool {
	return c.Name == o.Name && c.Kind == o.Kind && c.DateOnly == o.DateOnly && c.To == o.To && c.Many == o.Many &&
		(c.Back == "" || o.Back == "" || c.Back == o.Back)
}

// meaning describes an attribute for a message.
func (c *CustomAttribute) meaning() string {
	switch {
	case c.Kind == Relation && c.Many:
		return "a relation to many of " + c.To
	case c.Kind == Relation:
		return "a relation to one of " + c.To
	case c.DateOnly:
		return "a Date without a time of day"
	}
	return "a " + string(c.Kind)
}

// whyLeftOut returns why an entry was left out of a model, or nil.
func whyLeftOut(all []*leftOutError, id int64) error {
	for _, l := range all {
		if l.id == id {
			return misfit("Name", "%s", l.err)
		}
	}
	return nil
}
