package models

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/web/ui"
)

// role is a role of members. Its Name is a tag.
type role struct {
	Oid  string `json:"_oid"`
	Name string
}

// operate sets the condition, roles and effect of each operation.
func (p *typePage) operate(rows []operationRow, roles []role) {
	declared := map[string]operationRow{}
	for _, row := range rows {
		if there, ok := declared[row.Name]; !ok || p.nearer(row.Of, there.Of) {
			declared[row.Name] = row
		}
	}
	for _, o := range p.Operations {
		row := declared[o.Name]
		o.Declared = cmp.Or(row.Of, p.Token)
		o.Roles = rolesOf(row.Rights, roles)
		o.Effect = effectOf(o.Name, o.Declared)
		condition := ""
		if a := p.Attributes[o.Validator.Token]; a != nil {
			condition = a.Defined.Calculation
		}
		o.When, o.Filter = conditionInWords(condition)
	}
	p.Sorted = slices.SortedFunc(maps.Values(p.Operations), func(a, b *typeOperation) int { return cmp.Compare(a.Name, b.Name) })
}

// nearer compares two ancestors of the type of the page. It reports whether the first is nearer to
// this type than the second.
func (p *typePage) nearer(one, other string) bool {
	place := func(name string) int {
		return slices.IndexFunc(p.Above, func(t *modelType) bool { return t.Name == name }) // -1: the type itself
	}
	return place(one) < place(other)
}

// rolesOf returns the roles whose bit is set: 1 shifted left by the number of the role's Oid.
// Spec: interface 2.1.1.
func rolesOf(bits int64, roles []role) []string {
	var all []string
	for _, r := range roles {
		_, number, _ := strings.Cut(r.Oid, ":")
		n, err := strconv.Atoi(number)
		if err == nil && n >= 0 && n < 63 && bits&(1<<n) != 0 {
			all = append(all, ui.RoleName(r.Name))
		}
	}
	return all
}

// stateNames has the names of asset states by code. Spec: interface 3.1.
var stateNames = map[string]string{"0": "Future", "64": "Active", "128": "Closed", "200": "Template", "208": "Broken Down", "255": "Deleted"}

var (
	inStates  = regexp.MustCompile(`^AssetState=('[0-9]+'(?:,'[0-9]+')*)$`)
	isThere   = regexp.MustCompile(`^(\w+)$`)
	isLive    = regexp.MustCompile(`^(\w+)\.AssetState!='255'$`)
	isOpen    = regexp.MustCompile(`^\w+\.SecurityScope\.ParentMeAndUp\[AssetState='255'\]\.@Count='0'$`)
	notTheses = regexp.MustCompile(`^ID!=`)
)

// conditionInWords describes the condition under which an operation can run. Terms without a
// description are returned as a filter. Without a condition, the operation runs on all assets
// that are not deleted. Spec: interface 3.2.
func conditionInWords(filter string) (words []string, rest string) {
	if filter == "" {
		return []string{"not Deleted"}, ""
	}
	var left, needed []string
	for _, term := range topTerms(filter) {
		if m := inStates.FindStringSubmatch(term); m != nil {
			words = append(words, namesOfStates(m[1]))
		} else if term == "AssetState!='255'" {
			words = append(words, "not Deleted")
		} else if notTheses.MatchString(term) {
			words = append(words, "not one that alds needs")
		} else if m := isThere.FindStringSubmatch(term); m != nil {
			needed = append(needed, m[1])
		} else if m := isLive.FindStringSubmatch(term); m != nil && slices.Contains(needed, m[1]) || isOpen.MatchString(term) {
			continue // included in the text about the relations in needed
		} else {
			left = append(left, strings.TrimSuffix(strings.TrimPrefix(term, "("), ")"))
		}
	}
	if len(needed) > 0 {
		words = append(words, "its "+strings.Join(needed, " and ")+" not deleted")
	}
	return words, strings.Join(left, ";")
}

// namesOfStates returns the names of the states in a list such as '64','128'.
func namesOfStates(codes string) string {
	var names []string
	for code := range strings.SplitSeq(codes, ",") {
		code = strings.Trim(code, "'")
		names = append(names, cmp.Or(stateNames[code], code))
	}
	return strings.Join(names, ", ")
}

// topTerms splits a filter at the semicolons outside parentheses, brackets and quotes.
func topTerms(filter string) []string {
	var terms []string
	depth, quoted, start := 0, false, 0
	for i, c := range filter {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ';' && depth == 0:
			terms, start = append(terms, filter[start:i]), i+1
		}
	}
	return append(terms, filter[start:])
}

// effects describes operations. The key is type and name, or only the name. Spec: interface
// 3.2.
var effects = map[string]string{
	"Delete":                                 "The state becomes Deleted. Closed assets may be deleted, too.",
	"AssetType.Delete":                       "The state becomes Deleted; values are kept. Custom ones only.",
	"AttributeDefinition.Delete":             "The state becomes Deleted; values are kept. Custom ones only.",
	"Undelete":                               "The state becomes the one before the deletion.",
	"DeleteWithData":                         "Deletes it with its values, for good. Custom ones only.",
	"Inactivate":                             "The state becomes Closed.",
	"Reactivate":                             "The state becomes Active.",
	"Activate":                               "The state becomes Active.",
	"Close":                                  "The state becomes Closed.",
	"MakeFuture":                             "The state becomes Future.",
	"QuickClose":                             "Closes it and what is open below it, and sets ToDo to 0.",
	"QuickSignup":                            "Makes the caller one of the Owners.",
	"Copy":                                   "Makes a copy with its tasks and tests.",
	"DeepCopy":                               "Makes a copy with its tasks and tests.",
	"ShallowCopy":                            "Makes a copy of it alone.",
	"MakeTemplate":                           "The state becomes Template.",
	"Split":                                  "Makes a copy that takes over the tasks and tests that are not closed.",
	"Apply":                                  "Carries out what the proposal shows; the state becomes Closed. The page of the proposal does it.",
	"Decline":                                "The state becomes Closed, and nothing is carried out.",
	"Breakdown":                              "Makes an Epic of its values; the state becomes Broken Down.",
	"StoryToEpic":                            "Makes an Epic of its values; the state becomes Broken Down.",
	"EpicToStory":                            "The state becomes Active again; the epic is deleted. Only while nothing hangs below the epic.",
	"ConvertToDefect":                        "Makes a Defect with its values; the state becomes Deleted.",
	"GenerateSubStory":                       "Makes a Story below it; of a story, beside it in its epic.",
	"GenerateSubEpic":                        "Makes an Epic below it.",
	"CopyAcceptanceTestsFromRegressionSuite": "Makes a Test below it for each test of its suite that the caller sees.",
	"ConvertToTeam":                          "Makes a Team with its name.",
	"AssignMemberWithRole":                   "Gives the member the role in the project.",
	"AssignToScopeWithRole":                  "Gives the member the role in the project.",
	"Send":                                   "Makes a MessageReceipt for each recipient, once.",
	"MarkAsRead":                             "Sets IsRead.",
	"MarkAsUnread":                           "Takes IsRead back.",
	"MarkAsArchived":                         "Sets IsArchived.",
	"MarkAsUnarchived":                       "Takes IsArchived back.",
}

// effectOf returns the description of the operation with this name, or "" if there is no
// description. declared is the type that declares the operation.
func effectOf(name, declared string) string {
	return cmp.Or(effects[declared+"."+name], effects[name])
}
