package undo

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
)

// Request is the body of POST api/undo and its options.
type Request struct {
	Body     []byte // JSON or YAML
	YAML     bool   // the body is YAML; if false, document.Sniff decides
	Preview  bool   // answer what the undo would do, and change nothing
	Comment  string // stored as ChangeComment
	Key      string // the Idempotency-Key; empty: none
	IfMoment int64  // the moment that the asset must have; only for the change of one asset; 0: any moment
	UpTo     int64  // for Step: what Newest returned when the request was accepted
}

// maxRequests is the largest number of writes that a request may name.
const maxRequests = 1000

// selection says which changes to take back. It has either requests, or an asset and a moment, or a
// member or an access token with a time.
type selection struct {
	requests     []string
	asset        oid.OID
	moment       int64
	by           oid.OID // a member; null: token
	token        string  // id of an access token
	since, until int64   // UTC microseconds
	hasUntil     bool    // false: until now
	upTo         int64   // the last moment of changes that are selected by time; 0: any
	skip         bool    // true: leave conflicts as they are; false: a conflict refuses the undo
}

// Check returns an error if the request could not be carried out. It looks only at the request.
// Errors: those of parse.
func (r Request) Check() error {
	_, err := parse(r)
	return err
}

// parse reads the body of a request. Errors: fault.Invalid; fault.NotFound for a request id that no write can
// have.
func parse(r Request) (s selection, err error) {
	docs, err := document.Parse(r.Body, r.YAML || document.Sniff(r.Body))
	if err != nil {
		return s, err
	}
	if len(docs) != 1 || docs[0].Kind != document.Map {
		return s, fault.Invalidf(0, "The body must be an object")
	}
	given := map[string]bool{}
	for i, key := range docs[0].Keys {
		n := &docs[0].Items[i]
		read, ok := readers[key]
		if !ok || given[key] {
			return s, fault.Invalidf(n.At, "Invalid key at node(s): root->%s", key)
		}
		given[key] = true
		if err := read(&s, n); err != nil {
			return s, err
		}
	}
	if r.IfMoment != 0 && !given["moment"] {
		return s, fault.Invalidf(fault.NoPlace, "If-Match needs the change of one asset")
	}
	if err := s.check(given); err != nil {
		return s, err
	}
	for _, id := range s.requests {
		if uuid.Validate(id) != nil {
			return s, fault.NotFoundf("There is no write with the request id %s", id)
		}
	}
	return s, nil
}

// check returns an error unless the body selects changes in exactly one way.
func (s *selection) check(given map[string]bool) error {
	ways := 0
	for _, way := range [...]string{"requestId", "asset", "by"} {
		if given[way] {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fault.Invalidf(0, "The body must have one of requestId, asset and by")
	case given["asset"] != given["moment"]:
		return fault.Invalidf(0, "asset and moment belong together")
	case given["by"] != given["since"] || given["until"] && !given["by"]:
		return fault.Invalidf(0, "by needs since, and may have until")
	case s.hasUntil && s.until < s.since:
		return fault.Invalidf(0, "until is before since")
	}
	return nil
}

// readers read the values of a body, by key.
var readers = map[string]func(s *selection, n *document.Node) error{
	"requestId": func(s *selection, n *document.Node) error {
		list := []document.Node{*n}
		if n.Kind == document.List {
			list = n.Items
		}
		if len(list) == 0 || len(list) > maxRequests {
			return fault.Invalidf(n.At, "requestId must have 1 to %d ids", maxRequests)
		}
		for i := range list {
			id, err := text(&list[i], "requestId")
			if err != nil {
				return err
			}
			s.requests = append(s.requests, strings.ToLower(id))
		}
		return nil
	},
	"asset": func(s *selection, n *document.Node) (err error) {
		s.asset, err = oidOf(n, "asset")
		return err
	},
	"moment": func(s *selection, n *document.Node) error {
		at, err := strconv.ParseInt(n.Text, 10, 64)
		if n.Kind != document.Number || err != nil || at <= 0 {
			return fault.Invalidf(n.At, "moment must be a positive whole number")
		}
		s.moment = at
		return nil
	},
	"by": func(s *selection, n *document.Node) error {
		by, err := text(n, "by")
		if err != nil {
			return err
		}
		if id, err := uuid.Parse(by); err == nil && len(by) == len(uuid.Nil.String()) {
			s.token = id.String()
			return nil
		}
		o, err := oid.Parse(by)
		if err != nil || o.IsNull() || o.Type != "Member" {
			return fault.Invalidf(n.At, "by must be the Oid of a member or the id of an access token")
		}
		s.by = o
		return nil
	},
	"since": func(s *selection, n *document.Node) (err error) {
		s.since, err = instant(n, "since")
		return err
	},
	"until": func(s *selection, n *document.Node) (err error) {
		s.until, err = instant(n, "until")
		s.hasUntil = true
		return err
	},
	"conflicts": func(s *selection, n *document.Node) error {
		switch n.Text {
		case "fail":
		case "skip":
			s.skip = true
		default:
			return fault.Invalidf(n.At, `conflicts must be "fail" or "skip"`)
		}
		return nil
	},
}

func text(n *document.Node, key string) (string, error) {
	if n.Kind != document.String || n.Text == "" {
		return "", fault.Invalidf(n.At, "%s must be a text that is not empty", key)
	}
	return n.Text, nil
}

func oidOf(n *document.Node, key string) (oid.OID, error) {
	token, err := text(n, key)
	if err != nil {
		return oid.OID{}, err
	}
	o, err := oid.Parse(token)
	if err != nil || o.IsNull() {
		return oid.OID{}, fault.Invalidf(n.At, "%s must be an Oid, such as Story:1005", key)
	}
	return o, nil
}

// instant reads a date and time, in UTC microseconds.
func instant(n *document.Node, key string) (int64, error) {
	at, ok := value.Instant(n.Text)
	if n.Kind != document.String || !ok {
		return 0, fault.Invalidf(n.At, "%s must be a date and time, such as 2026-03-01T09:00:00Z", key)
	}
	return at, nil
}
