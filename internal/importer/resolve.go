package importer

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/base/folding"
)

// resolver finds assets by the names in records: projects, members and values of lists.
type resolver struct {
	client  *client
	model   *model
	pending pending
	dryRun  bool
	scope   string // Oid of the project that everything goes into; empty: none
	today   string // the date on which new projects begin

	found   map[string]found  // results so far, by what was looked up
	would   []map[string]any  // in a dry run: the commands that create missing assets
	aliases map[string]string // in a dry run: the aliases of these commands, by type, parent and folded name
	created map[string]int    // number of created assets by type
	leftOut map[string]int    // how often a name or key was left out, by type, attribute and name
}

// found is the result of looking up a name.
type found struct {
	ref string // an Oid, or in a dry run an alias from would; empty: no asset has the name
	err error  // a problem with the name; nil: none
}

func newResolver(c *client, m *model, p pending, dryRun bool) *resolver {
	return &resolver{
		client: c, model: m, pending: p, dryRun: dryRun, today: time.Now().UTC().Format(time.DateOnly),
		aliases: map[string]string{}, found: map[string]found{}, created: map[string]int{}, leftOut: map[string]int{},
	}
}

var oidForm = regexp.MustCompile(`^[A-Z][A-Za-z]*:-?[0-9]+$`)

// top finds the project that everything goes into, by its Oid or name, and stores it in scope. It
// returns an error if no project has the name, or if several projects have it.
func (r *resolver) top(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	query := map[string]any{"from": "Scope", "where": map[string]any{"Name": text}}
	if oidForm.MatchString(text) {
		query = map[string]any{"from": text}
	}
	oids, err := r.oids(ctx, query)
	switch {
	case err != nil && !isProblem(err):
		return fmt.Errorf("the project %s: %w", text, err)
	case len(oids) == 0:
		return fmt.Errorf("there is no project %s", text)
	case len(oids) > 1:
		return fmt.Errorf("%d projects have the name %s; use one of these Oids as --project: %s",
			len(oids), text, strings.Join(oids, ", "))
	}
	r.scope = oids[0]
	return nil
}

// oids returns the Oids of the rows of a query.
func (r *resolver) oids(ctx context.Context, query map[string]any) ([]string, error) {
	var rows []struct {
		OID string `json:"_oid"`
	}
	_, err := r.client.query(ctx, query, &rows)
	if err != nil {
		return nil, err
	}
	var oids []string
	for _, row := range rows {
		oids = append(oids, row.OID)
	}
	return oids, nil
}

// project returns the project at the end of a path of names. The path begins below the project that
// everything goes into, or below Scope:0. project creates missing projects.
// Errors: a problem with a name of the path; errors of the service.
func (r *resolver) project(ctx context.Context, path []string) (string, error) {
	at := r.scope
	if len(path) > 0 && at == "" {
		at = "Scope:0"
	}
	for _, name := range path {
		key := "project\x00" + at + "\x00" + name
		f, ok := r.found[key]
		if !ok {
			var err error
			if f, err = r.findProject(ctx, at, name); err != nil {
				return "", fmt.Errorf("the project %s: %w", name, err)
			}
			r.found[key] = f
		}
		if f.err != nil {
			return "", f.err
		}
		at = f.ref
	}
	return at, nil
}

// findProject finds the project with a name below a parent, or creates it. parent is an Oid or
// an alias.
func (r *resolver) findProject(ctx context.Context, parent, name string) (found, error) {
	query := map[string]any{"from": "Scope", "where": map[string]any{"Name": name, "Parent": parent}}
	if !strings.HasPrefix(parent, "@") {
		oids, err := r.oids(ctx, query)
		if err != nil {
			return found{}, err
		}
		if len(oids) > 1 {
			return found{err: problemf("%d projects have the name %s", len(oids), name)}, nil
		}
		if len(oids) == 1 {
			return found{ref: oids[0]}, nil
		}
	}
	return r.make(ctx, query, "Scope", map[string]any{"Name": name, "Parent": parent, "BeginDate": r.today})
}

// relation finds the assets that a record names in a relation of a type. It returns one Oid, a list
// of Oids, or nil for none. In a dry run, an alias may replace an Oid. Errors: a problem with a
// name; errors of the service.
func (r *resolver) relation(ctx context.Context, typ, attribute string, n names) (any, error) {
	related, err := r.model.related(ctx, typ, attribute)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, candidates := range n.Candidates {
		f, err := r.named(ctx, related, candidates, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", attribute, err)
		}
		if f.err != nil {
			return nil, problemf("%s: %v", attribute, f.err)
		}
		if f.ref == "" && n.Unknown != leaveOut {
			return nil, problemf("%s: no %s is called %q", attribute, related, candidates[0])
		}
		if f.ref == "" {
			r.leftOut[typ+"."+attribute+" "+strconv.Quote(candidates[0])]++
			continue
		}
		all = append(all, f.ref)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

// named finds the asset of a type that has one of several names. It uses the first name that
// exactly one asset has. If no asset has any of the names and n.Unknown is create, named creates
// the asset.
func (r *resolver) named(ctx context.Context, typ string, candidates []string, n names) (found, error) {
	key := typ + "\x00" + n.Unknown + "\x00" + strings.Join(candidates, "\x00")
	f, ok := r.found[key]
	if ok {
		return f, nil
	}
	for _, name := range candidates {
		oids, err := r.lookUp(ctx, typ, name)
		if err != nil {
			return f, err
		}
		if len(oids) > 1 {
			f.err = problemf("%d assets of type %s have the name %q", len(oids), typ, name)
			continue
		}
		if len(oids) == 1 {
			f = found{ref: oids[0]}
			break
		}
	}
	if f == (found{}) && n.Unknown == create {
		attributes := map[string]any{"Name": candidates[0]}
		for a, v := range n.Create {
			if attributes[a] = v; v == "$value" {
				attributes[a] = candidates[0]
			}
		}
		query := map[string]any{"from": typ, "where": map[string]any{"Name": candidates[0]}}
		var err error
		if f, err = r.make(ctx, query, typ, attributes); err != nil {
			return f, err
		}
	}
	r.found[key] = f
	return f, nil
}

// lookUp returns the Oids of the assets of a type that have a name in Name, Nickname, Username
// or Email. Case does not matter. If name is an Oid, lookUp returns it without a query.
func (r *resolver) lookUp(ctx context.Context, typ, name string) ([]string, error) {
	if oidForm.MatchString(name) {
		return []string{name}, nil
	}
	t, err := r.model.of(ctx, typ)
	if err != nil {
		return nil, err
	}
	var filters []string
	for _, a := range []string{"Name", "Nickname", "Username", "Email"} {
		if _, ok := t.attributes[a]; ok {
			filters = append(filters, a+"=$name")
		}
	}
	return r.oids(ctx, map[string]any{
		"from": typ, "filter": []string{strings.Join(filters, "|")}, "with": map[string]any{"$name": []string{name}},
	})
}

// make creates an asset. query finds the asset when it exists. In a dry run, make only stores the
// command. Names that are equal for the service get one command.
func (r *resolver) make(
	ctx context.Context, query map[string]any, typ string, attributes map[string]any,
) (found, error) {
	key := fmt.Sprint(typ, "\x00", attributes["Parent"], "\x00", folding.Of(fmt.Sprint(attributes["Name"])))
	if alias := r.aliases[key]; alias != "" {
		return found{ref: alias}, nil
	}
	r.created[typ]++
	command := maps.Clone(attributes)
	command["AssetType"] = typ
	if r.dryRun {
		alias := fmt.Sprintf("@would%d", len(r.would))
		r.would, r.aliases[key] = append(r.would, map[string]any{alias: command}), alias
		return found{ref: alias}, nil
	}
	body, err := marshal(command)
	if err != nil {
		return found{}, err
	}
	a, err := r.pending.send(ctx, r.client, sent{Body: body, Check: query})
	if err != nil {
		return found{}, err
	}
	for _, message := range a.failures() {
		return found{err: problemf("%s %v cannot be created: %s", typ, attributes["Name"], message)}, nil
	}
	if len(a.AssetsCreated.OIDTokens) != 1 {
		return found{}, fmt.Errorf("%d assets were created instead of one", len(a.AssetsCreated.OIDTokens))
	}
	return found{ref: a.AssetsCreated.OIDTokens[0]}, nil
}
