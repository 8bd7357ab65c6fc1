package query

import (
	"errors"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
)

// search binds find and findin. One of the attributes must contain the text.
func (b *binder) search(q *Bound, r Request) error {
	text := searchText(r.Find)
	if text == "" {
		return nil
	}
	alts, pattern := Cond{Op: token.Or}, likeContains(folding.Of(text))
	add := func(p Path, at int) error {
		alts.Kids = append(alts.Kids, Cond{Term: Term{Path: p, Test: token.Like, Values: []Value{{Kind: TextOf, Text: pattern}}}})
		return b.countText(at, alts.Kids[len(alts.Kids)-1].Term.Values)
	}
	if len(r.FindIn) > MaxTerms {
		return tooMany(r.FindIn[MaxTerms].At, "attributes in findin", MaxTerms)
	}
	named := map[string]bool{}
	for _, t := range r.FindIn {
		if named[t.Text] {
			continue
		}
		named[t.Text] = true
		p, err := b.token(q.Type, t)
		if err != nil {
			return err
		}
		if !value.IsText(p.Kind()) || p.Agg != None {
			return badToken(t.At, t.Text, "only text can be searched")
		}
		if err := add(p, t.At); err != nil {
			return err
		}
	}
	if len(r.FindIn) == 0 {
		for _, name := range []string{"Name", "Description", "Number"} {
			p, err := b.path(q.Type, token.Path{Hops: []token.Hop{{Name: name}}})
			if err == nil && value.IsText(p.Kind()) {
				err = add(p, fault.NoPlace)
			}
			if errors.Is(err, errLimit) {
				return err
			}
		}
	}
	q.Search = true
	switch len(alts.Kids) {
	case 0:
		return badToken(fault.NoPlace, q.Type.Name, "it has nothing to search in; name attributes in findin")
	case 1:
		alts = alts.Kids[0]
	}
	if q.Filter != nil {
		alts = Cond{Op: token.And, Kids: []Cond{*q.Filter, alts}}
	}
	q.Filter = &alts
	return nil
}

// searchText removes one pair of outer quotes from the text of the key find. It also removes a
// trailing asterisk, inside or outside the quotes.
func searchText(s string) string {
	s = strings.TrimSuffix(s, "*")
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = strings.TrimSuffix(s[1:n-1], "*")
	}
	return s
}
