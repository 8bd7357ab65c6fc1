package tags

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Merge replaces the tags mergeFrom by the tag mergeTo in every project where the actor may
// change tags. It returns the tag mergeTo with its counts.
// Shape: {"mergeTo":"UX","mergeFrom":["ux design","usability"]}; keys in upper or lower case
// Errors: fault.Invalid; fault.Denied for actors who administer no project.
func (s *Service) Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	lists, err := fields(body, "mergeto", "mergefrom")
	if err != nil {
		return nil, err
	}
	to := lists["mergeto"]
	if len(to) != 1 || len(lists["mergefrom"]) == 0 {
		return nil, fault.Invalidf(fault.NoPlace, "mergeTo must be a tag and mergeFrom a list of tags")
	}
	from := lists["mergefrom"][:0:0]
	for _, tag := range lists["mergefrom"] {
		if tag != to[0] {
			from = append(from, tag)
		}
	}
	if err := s.change(ctx, who, from, to); err != nil {
		return nil, err
	}
	t, err := s.one(ctx, who, to[0])
	if err != nil {
		return nil, err
	}
	return value.Marshal(t)
}

// Remove removes tags in every project where the actor may change tags. It returns these tags
// with the counts that remain.
// Shape: {"removeFrom":["ux"]} gives [{"tag":"ux","count":0,"visibleCount":0}]
// Errors: those of Merge.
func (s *Service) Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error) {
	lists, err := fields(body, "removefrom")
	if err != nil {
		return nil, err
	}
	from := lists["removefrom"]
	if len(from) == 0 {
		return nil, fault.Invalidf(fault.NoPlace, "removeFrom must be a list of tags")
	}
	if err := s.change(ctx, who, from, nil); err != nil {
		return nil, err
	}
	left := make([]Tag, len(from))
	for i, tag := range from {
		if left[i], err = s.one(ctx, who, tag); err != nil {
			return nil, err
		}
	}
	return value.Marshal(left)
}

// maxTags is the largest number of tags that one key of a request may have.
const maxTags = db.MaxIn

// fields reads an object. Its values are lists of tags or single tags. known contains the allowed
// keys in lower case. Keys are compared without regard to case. The keys of the result are in
// lower case.
func fields(body []byte, known ...string) (map[string][]string, error) {
	docs, err := document.Parse(body, false)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map {
		return nil, fault.Invalidf(0, "The body must be an object")
	}
	lists := map[string][]string{}
	for i, key := range docs[0].Keys {
		n, low := docs[0].Items[i], strings.ToLower(key)
		isKnown := false
		for _, k := range known {
			isKnown = isKnown || k == low
		}
		if !isKnown {
			return nil, fault.Invalidf(n.At, "Invalid key at node(s): root->%s", key)
		}
		list := []document.Node{n}
		if n.Kind == document.List {
			list = n.Items
		}
		for _, item := range list {
			if item.Kind != document.String || item.Text == "" {
				return nil, fault.Invalidf(item.At, "A tag must be a text that is not empty")
			}
			lists[low] = append(lists[low], item.Text)
		}
		if len(lists[low]) > maxTags {
			return nil, fault.Invalidf(n.At, "%s names more than %d tags", key, maxTags)
		}
	}
	return lists, nil
}

// change removes the tags in the parameter from, and adds the tags in the parameter to. It does so on
// every asset that has at least one of the tags to remove. It leaves out projects where the actor
// may not change tags.
func (s *Service) change(ctx context.Context, who auth.Actor, from, to []string) error {
	if err := s.mayChange(who); err != nil || len(from) == 0 {
		return err
	}
	what := asset.Change{Name: attribute, Remove: values(from), Add: values(to)}
	return s.assets.Write(ctx, who, asset.Request{ID: uuid.NewString()}, func(w *asset.Session) error {
		found, err := s.lockTagged(ctx, w, who, from)
		if err != nil {
			return err
		}
		if most := s.assets.MaxAssets; most > 0 && len(found) > most {
			return asset.TooManyAssets(most)
		}
		w.Count(len(found))
		commands := make([]*asset.Command, len(found))
		for i, o := range found {
			commands[i] = &asset.Command{Verb: asset.Update, Target: asset.Ref{OID: o}, Changes: []asset.Change{what}}
		}
		done, err := w.Run(ctx, commands)
		for _, o := range done {
			if err == nil && o.Err != nil {
				err = o.Err
			}
		}
		return err
	})
}

func values(tags []string) []asset.Value {
	all := make([]asset.Value, len(tags))
	for i, tag := range tags {
		all[i] = asset.Value{Kind: asset.Text, Text: tag}
	}
	return all
}

// lockTagged locks the assets that tagged finds, and returns them. It leaves out assets that lost
// the tags before they were locked.
func (s *Service) lockTagged(ctx context.Context, w *asset.Session, who auth.Actor, tags []string) ([]oid.OID, error) {
	found, err := s.tagged(ctx, w.Tx(), who, tags)
	if err != nil {
		return nil, err
	}
	again, err := w.LockFound(ctx, found)
	if err != nil || !again {
		return found, err
	}
	now, err := s.tagged(ctx, w.Tx(), who, tags)
	still := make(map[oid.OID]bool, len(now))
	for _, o := range now {
		still[o] = true
	}
	return slices.DeleteFunc(found, func(o oid.OID) bool { return !still[o] }), err
}

// tagged finds the assets that have at least one of the tags, in projects where the actor may
// change tags.
func (s *Service) tagged(ctx context.Context, tx *db.Tx, who auth.Actor, tags []string) ([]oid.OID, error) {
	in, args := db.InArgs(s.codes)
	folded := make([]string, len(tags))
	for i, tag := range tags {
		folded[i] = folding.Of(tag)
	}
	tagIn, tagArgs := db.InArgs(folded)
	args = append(append(args, db.Forever, meta.StateDeleted), tagArgs...)
	var found []oid.OID
	err := db.Each(ctx, tx, `SELECT DISTINCT a.id, a.type, a.scope_id FROM asset_value v JOIN asset a ON a.id = v.from_id`+
		` WHERE v.attribute IN `+in+` AND v.until_moment = ? AND a.state < ? AND NOT `+sqlgen.InHidden("a.scope_id")+` AND v.folded IN `+tagIn+` ORDER BY a.id`, args, func(row db.Scanner) error {
		var id int64
		var code int
		var scope *int64
		if err := row.Scan(&id, &code, &scope); err != nil {
			return err
		}
		if t, ok := s.model.TypeByCode(code); ok && s.mayChangeIn(who, scope) {
			found = append(found, oid.OID{Type: t.Name, ID: t.Shown(id)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find tagged assets: %w", err)
	}
	return found, nil
}

// mayChange returns an error if there is no project in which the actor may change tags.
func (s *Service) mayChange(who auth.Actor) error {
	if who.Held&s.rights == 0 {
		return fault.Deniedf("Tags are changed by project administrators")
	}
	return nil
}

// mayChangeIn reports whether an actor may change tags in a project.
func (s *Service) mayChangeIn(who auth.Actor, scope *int64) bool {
	return who.Admin || scope != nil && s.rights.Has(who.RoleIn(*scope))
}
