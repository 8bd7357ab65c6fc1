package webhook

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of a subscription: characters of a text, or entries of a list.
const (
	maxURL         = 2000
	maxHeader      = 4000
	maxDescription = 4000
	maxWebhookID   = 255
	maxDefinitions = 100
	maxTokens      = 200 // tokens in one list
)

// parseBody parses the body of a request, which must be one object.
func parseBody(body []byte) (*document.Node, error) {
	nodes, err := document.Parse(body, false)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 || nodes[0].Kind != document.Map {
		return nil, errNotAMap()
	}
	return &nodes[0], nil
}

// readOnly has the keys that only the service sets. A request may contain these keys, because a
// client may send back a subscription that it has read. The service ignores their values.
var readOnly = []string{"id", "lastResponseAt", "retryCount", "createdAt", "updatedAt", "createdBy", "hasSecret", "disabledReason", "health", "_type"}

// apply sets the fields of r for the keys in the body. null clears a value.
// Spec: interface 4.4.2.
func (s *Service) apply(r *subscriptionRow, n *document.Node) error {
	for i, key := range n.Keys {
		v := &n.Items[i]
		set, known := setters[key]
		switch {
		case known:
			if err := set(s, r, v); err != nil {
				return err
			}
		case !slices.Contains(readOnly, key):
			return errUnknownKey(v.At, key)
		}
	}
	return nil
}

var setters = map[string]func(*Service, *subscriptionRow, *document.Node) error{
	"url": (*Service).setURL,
	"webhookId": func(_ *Service, r *subscriptionRow, v *document.Node) error {
		return text(v, "webhookId", maxWebhookID, &r.WebhookID)
	},
	"description": func(_ *Service, r *subscriptionRow, v *document.Node) error {
		return text(v, "description", maxDescription, &r.Description)
	},
	"enabled": func(_ *Service, r *subscriptionRow, v *document.Node) error {
		return boolean(v, "enabled", true, &r.Enabled)
	},
	"paused": func(_ *Service, r *subscriptionRow, v *document.Node) error {
		return boolean(v, "paused", false, &r.Paused)
	},
	"ordered": func(_ *Service, r *subscriptionRow, v *document.Node) error {
		return boolean(v, "ordered", false, &r.Ordered)
	},
	"maxBatch":            (*Service).setMaxBatch,
	"authorizationHeader": (*Service).setAuthorization,
	"secret":              (*Service).setSecret,

	"previousSecretValidFor": (*Service).setPreviousValid,
	"eventTypes":             (*Service).setDefinitions,
}

func (*Service) setURL(r *subscriptionRow, v *document.Node) error {
	var raw string
	if err := text(v, "url", maxURL, &raw); err != nil {
		return err
	}
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return errMissing("url")
	case err != nil || strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return errURL(v.At, "it cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return errURL(v.At, "the scheme is "+strconv.Quote(u.Scheme))
	case u.Hostname() == "":
		return errURL(v.At, "it names no host")
	case !isPort(u.Port()):
		return errURL(v.At, "the port is no number from 1 to 65535")
	}
	r.URL = raw
	return nil
}

// isPort reports whether a port is empty or a number from 1 to 65535.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

func (*Service) setMaxBatch(r *subscriptionRow, v *document.Node) error {
	r.MaxBatch = 0
	if v.Kind == document.Null {
		return nil
	}
	n, err := strconv.Atoi(v.Text)
	if v.Kind != document.Number || err != nil || n < 1 || n > maxEvents {
		return errWants(v.At, "maxBatch", "a number from 1 to "+strconv.Itoa(maxEvents))
	}
	r.MaxBatch = n
	return nil
}

func (s *Service) setAuthorization(r *subscriptionRow, v *document.Node) error {
	var header string
	if err := text(v, "authorizationHeader", maxHeader, &header); err != nil {
		return err
	}
	if strings.ContainsFunc(header, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return errHeader(v.At)
	}
	r.Authorization = ""
	if header != "" {
		r.Authorization = optional(s.box.Seal([]byte(header)))
	}
	return nil
}

func (s *Service) setDefinitions(r *subscriptionRow, v *document.Node) error {
	if v.Kind != document.List {
		return errWants(v.At, "eventTypes", "a list of event definitions")
	}
	if len(v.Items) == 0 || len(v.Items) > maxDefinitions {
		return errWants(v.At, "eventTypes", "a list of 1 to "+strconv.Itoa(maxDefinitions)+" event definitions")
	}
	r.EventTypes = make([]Definition, len(v.Items))
	for i := range v.Items {
		d, err := s.definition(&v.Items[i], "eventTypes["+strconv.Itoa(i)+"]")
		if err != nil {
			return err
		}
		r.EventTypes[i] = d
	}
	return nil
}

// definition reads and checks one event definition. path is the position of the definition in the
// body, for example eventTypes[0]. Error messages contain path.
func (s *Service) definition(n *document.Node, path string) (Definition, error) {
	var d Definition
	if n.Kind != document.Map {
		return d, errWants(n.At, path, "an event definition")
	}
	for i, key := range n.Keys {
		v := &n.Items[i]
		var err error
		switch key {
		case "type":
			err = s.eventType(&d, v)
		case "from":
			err = s.from(&d, v)
		case "attributes":
			d.Attributes, err = tokens(v, key)
		case "filter":
			d.Filter, err = tokens(v, key)
		case "select":
			d.Select, err = tokens(v, key)
		case "with":
			d.With, err = variables(v)
		case "userContext":
			err = s.userContext(&d, v)
		default:
			err = errUnknownKey(v.At, path, key)
		}
		if err != nil {
			return d, err
		}
	}
	if d.Type == "" {
		return d, fault.Invalidf(n.At, "%s: type is required", path)
	}
	if d.From == "" {
		return d, fault.Invalidf(n.At, "%s: from is required", path)
	}
	return d, s.checkTokens(&d, n)
}

func (*Service) eventType(d *Definition, v *document.Node) error {
	switch d.Type = event.Type(v.Text); d.Type {
	case event.AssetCreated, event.AssetChanged:
		return nil
	}
	return errWants(v.At, "type", "AssetCreated or AssetChanged")
}

func (s *Service) from(d *Definition, v *document.Node) error {
	t, ok := s.model.Type(v.Text)
	if v.Kind != document.String || !ok || len(t.Concrete) == 0 {
		return errUnknownType(v.At, v.Text)
	}
	d.From = t.Name
	return nil
}

func (*Service) userContext(d *Definition, v *document.Node) error {
	if v.Kind == document.Null {
		return nil
	}
	o, err := oid.Parse(v.Text)
	if err != nil || v.Kind != document.String || o.Type != "Member" || o.Moment != 0 {
		return errMember(v.At, v.Text)
	}
	d.UserContext = v.Text
	return nil
}

// checkMembers returns an error if the member in a userContext does not exist or is deleted. A
// definition with such a userContext would never match.
func (s *Service) checkMembers(ctx context.Context, q db.Querier, n *document.Node) error {
	definitions, ok := n.Get("eventTypes")
	if !ok {
		return nil
	}
	var ids []int64
	var named []*document.Node
	for i := range definitions.Items {
		v, ok := definitions.Items[i].Get("userContext")
		if !ok || v.Kind == document.Null {
			continue
		}
		o, err := oid.Parse(v.Text)
		if err != nil {
			return errMember(v.At, v.Text)
		}
		ids, named = append(ids, s.stored(o)), append(named, v)
	}
	found, err := s.events.Loader.Current(ctx, q, ids)
	if err != nil {
		return err
	}
	for i, v := range named {
		if m := found[ids[i]]; m == nil || m.Type.Name != "Member" || m.State >= meta.StateDeleted {
			return errMember(v.At, v.Text)
		}
	}
	return nil
}

// checkTokens checks each token separately, so that an error contains the position of the token. It
// also returns an error for a definition whose attributes never appear in changes.
func (s *Service) checkTokens(d *Definition, n *document.Node) error {
	with := d.Variables()
	for _, key := range []string{"attributes", "filter", "select"} {
		v, ok := n.Get(key)
		if !ok {
			continue
		}
		for _, item := range items(v) {
			var err error
			one := []string{item.Text}
			switch key {
			case "attributes":
				err = s.events.Find.CheckDefinition(d.From, nil, nil, nil, one)
			case "filter":
				err = s.events.Find.CheckDefinition(d.From, one, with, nil, nil)
			case "select":
				err = s.events.Find.CheckDefinition(d.From, nil, nil, one, nil)
			}
			if err != nil {
				return at(item.At, err)
			}
		}
		if key == "attributes" && d.Type == event.AssetChanged && len(d.Attributes) > 0 && !slices.ContainsFunc(d.Attributes, s.mayChange(d.From)) {
			return errNeverChanges(v.At, d)
		}
	}
	return nil
}

// mayChange returns a function. The function reports whether a change of an asset can name an
// attribute. The parameter from is the type of the asset.
func (s *Service) mayChange(from string) func(attribute string) bool {
	t, _ := s.model.Type(from) // the type from was checked before
	return func(attribute string) bool {
		return slices.ContainsFunc(t.Concrete, func(leaf *meta.Type) bool { return s.events.Differ.Reports(leaf, attribute) })
	}
}

// at converts the position in an error from a position in a token into a position in the body.
// offset is the position of the token in the body.
func at(offset int, err error) error {
	if fault.KindOf(err) != fault.Invalid {
		return err
	}
	return fault.Invalidf(offset+max(0, fault.Place(err)), "%s", fault.Public(err))
}

// items returns the items of a list. Null counts as an empty list. Any other value counts as a list
// with one item.
func items(v *document.Node) []document.Node {
	switch v.Kind {
	case document.List:
		return v.Items
	case document.Null:
		return nil
	default:
		return []document.Node{*v}
	}
}

func tokens(v *document.Node, key string) ([]string, error) {
	all := items(v)
	if len(all) > maxTokens {
		return nil, errWants(v.At, key, "a list of up to "+strconv.Itoa(maxTokens)+" tokens")
	}
	var texts []string
	for _, item := range all {
		if item.Kind != document.String || item.Text == "" {
			return nil, errWants(item.At, key, "a list of tokens")
		}
		texts = append(texts, item.Text)
	}
	return texts, nil
}

func variables(v *document.Node) (map[string]event.Values, error) {
	if v.Kind == document.Null {
		return nil, nil //nolint:nilnil // having no variables is not an error
	}
	if v.Kind != document.Map {
		return nil, errWants(v.At, "with", "a map of $variable to value")
	}
	with := make(map[string]event.Values, len(v.Keys))
	for i, name := range v.Keys {
		value := &v.Items[i]
		if !strings.HasPrefix(name, "$") {
			return nil, errUnknownKey(value.At, "with", name)
		}
		values, err := valuesOf(value, name)
		if err != nil {
			return nil, err
		}
		with[name] = values
	}
	return with, nil
}

func valuesOf(v *document.Node, name string) (event.Values, error) {
	if v.Kind == document.String {
		return strings.Split(v.Text, ","), nil
	}
	var values event.Values
	for _, item := range items(v) {
		if item.Kind == document.List || item.Kind == document.Map {
			return nil, errWants(item.At, name, "a value or a list of values")
		}
		values = append(values, item.Text)
	}
	return values, nil
}

func text(v *document.Node, key string, most int, to *string) error {
	switch {
	case v.Kind == document.Null:
		*to = ""
	case v.Kind != document.String:
		return errWants(v.At, key, "text")
	case utf8.RuneCountInString(v.Text) > most:
		return errTooLong(v.At, key, most)
	default:
		*to = v.Text
	}
	return nil
}

func boolean(v *document.Node, key string, null bool, to *bool) error {
	switch v.Kind {
	case document.Null:
		*to = null
	case document.Bool:
		*to = v.Text == "true"
	default:
		return errWants(v.At, key, "true or false")
	}
	return nil
}
