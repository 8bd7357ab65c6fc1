package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/bench/rig"
	"github.com/alds-dev/alds/internal/store/db"
)

const feedAudits = `SELECT id, request_id, feed, at, actor_id, first_moment, last_moment FROM audit WHERE feed > ? ORDER BY feed LIMIT ?`

// feedVersions reads the versions that some writes created, each with the version before it.
var feedVersions = func() string {
	var all []string
	for _, of := range []string{"v.", "p."} {
		for _, c := range compared {
			all = append(all, of+c)
		}
	}
	return `SELECT v.id, v.moment, v.audit_id, p.id IS NULL, ` + strings.Join(all, ", ") + ` FROM asset_version v
		LEFT JOIN asset_version p ON p.id = v.id AND p.moment = (SELECT b.moment FROM asset_version b WHERE b.id = v.id AND b.moment < v.moment
			ORDER BY b.moment DESC LIMIT 1)
		WHERE v.moment BETWEEN ? AND ? AND v.audit_id IN `
}()

const feedActor = `SELECT m.name, JSON_VALUE(m.attrs, '$.Nickname'), JSON_VALUE(m.attrs, '$.Email'), l.to_id FROM asset m
	LEFT JOIN asset_link l ON l.relation = 41 AND l.from_type = 14 AND l.from_id = m.id AND l.until_moment = 9223372036854775807 WHERE m.id = ?`

// feedOwners reads the owners that each story of a page had at the moment of its change.
const feedOwners = `SELECT l.from_id, v.moment, m.name FROM asset_version v
	JOIN asset_link l ON l.relation = 1 AND l.from_type = 4 AND l.from_id = v.id AND l.since_moment <= v.moment AND l.until_moment > v.moment
	JOIN asset_version m ON m.id = l.to_id AND m.moment <= v.moment AND m.until_moment > v.moment
	WHERE v.moment BETWEEN ? AND ? AND v.id IN `

// shown are the columns that an event shows, with their attributes, in the order of the answer.
// The entry without a column marks the place of the relations to many.
var shown = []struct{ column, attribute string }{
	{"state", "AssetState"},
	{"name", "Name"},
	{"description", "Description"},
	{"number", "Number"},
	{"scope_id", "Scope"},
	{"", "Owners"},
	{"attrs", "Reference"},
	{"order_key", "Order"},
	{"estimate", "Estimate"},
}

// feedRow is a change. Its relations are read later.
type feedRow struct {
	streamRow
	audit      int64
	created    bool
	now, was   [][]byte // new and old value of each column in compared
	ownerNames []string // as of the change
}

// feedAudit has the columns of an audit, the row for one write, that its events show.
type feedAudit struct {
	position, at, actor int64
	request             string
}

// floorFeed answers with a page of changes after a position.
func floorFeed(after func(n int) int64, values bool) answer {
	return func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
		audits, ids, first, last, err := feedBehind(ctx, q, after(n))
		if err != nil {
			return nil, err
		}
		if len(ids) < feedPage {
			return nil, errOtherChange
		}
		list, err := feedRows(ctx, q, ids, first, last)
		if err != nil {
			return nil, err
		}
		if err := feedLinks(ctx, q, list, first, last, values); err != nil {
			return nil, err
		}
		slices.SortFunc(list, func(a, b feedRow) int { return int(audits[a.audit].position - audits[b.audit].position) })
		actor, err := feedInstigator(ctx, q, audits[list[0].audit].actor)
		if err != nil {
			return nil, err
		}
		w = append(w, `{"events":[`...)
		for i := range list {
			if i > 0 {
				w = append(w, ',')
			}
			if w, err = list[i].appendEvent(w, audits[list[i].audit], actor, values); err != nil {
				return nil, err
			}
		}
		end := list[len(list)-1]
		return fmt.Appendf(w, `],"next":"%d.%d","more":true}`, audits[end.audit].position, end.moment), nil
	}
}

// feedBehind reads the audits of the page that follows a position. An audit is the row for one write.
func feedBehind(ctx context.Context, q db.Querier, after int64) (audits map[int64]feedAudit, ids []int64, first, last int64, err error) {
	audits = make(map[int64]feedAudit, feedPage)
	err = db.Each(ctx, q, feedAudits, []any{after, feedPage}, func(row db.Scanner) error {
		var a feedAudit
		var id, from, to int64
		err := row.Scan(&id, &a.request, &a.position, &a.at, &a.actor, &from, &to)
		if len(ids) == 0 || from < first {
			first = from
		}
		audits[id], ids, last = a, append(ids, id), max(last, to)
		return err
	})
	return audits, ids, first, last, err
}

// floorFeedEnd answers that there is nothing new after a position.
func floorFeedEnd(last int64) answer {
	return func(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
		var head int64
		var more bool
		err := q.QueryRow(ctx, `SELECT value, EXISTS (SELECT 1 FROM audit WHERE feed IS NULL AND last_moment > 0) FROM sequence WHERE name = 'feed'`).Scan(&head, &more)
		if err == nil && (more || head != last) {
			err = errOtherChange
		}
		return fmt.Appendf(w, `{"events":[],"next":"%d.0","more":false}`, head+1), err
	}
}

func feedRows(ctx context.Context, q db.Querier, audits []int64, first, last int64) ([]feedRow, error) {
	in, args := db.InArgs(audits)
	rows, err := q.Query(ctx, feedVersions+in, append([]any{first, last}, args...)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := make([]feedRow, 0, feedPage)
	n := len(compared)
	raw := make([]sql.RawBytes, 2*n)
	for rows.Next() {
		r := feedRow{now: make([][]byte, n), was: make([][]byte, n)}
		into := []any{&r.id, &r.moment, &r.audit, &r.created}
		for i := range raw {
			into = append(into, &raw[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i := range n {
			if bytes.Equal(raw[i], raw[n+i]) && i != 0 && compared[i] != "estimate" {
				continue // name and estimate are in the snapshot, too
			}
			r.now[i], r.was[i] = bytes.Clone(raw[i]), bytes.Clone(raw[n+i])
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// feedLinks reads the relations that began or ended with the changes, and the owners at that
// time.
func feedLinks(ctx context.Context, q db.Querier, list []feedRow, first, last int64, values bool) error {
	// streamOwners expects the newest change first.
	changes := make([]streamRow, len(list))
	at := map[[2]int64]int{}
	ids := make([]int64, len(list))
	for i := range list {
		changes[len(list)-1-i].id, changes[len(list)-1-i].moment = list[i].id, list[i].moment
		at[[2]int64{list[i].id, list[i].moment}], ids[i] = i, list[i].id
	}
	slices.SortFunc(changes, func(a, b streamRow) int { return int(b.moment - a.moment) })
	if err := streamOwners(ctx, q, changes); err != nil {
		return err
	}
	for _, c := range changes {
		list[at[[2]int64{c.id, c.moment}]].owners = c.owners
	}
	if !values {
		return nil
	}
	in, args := db.InArgs(ids)
	return db.Each(ctx, q, feedOwners+in+` ORDER BY l.to_id`, append([]any{first, last}, args...), func(row db.Scanner) error {
		var id, moment int64
		var name string
		err := row.Scan(&id, &moment, &name)
		if i, ok := at[[2]int64{id, moment}]; ok {
			list[i].ownerNames = append(list[i].ownerNames, name)
		}
		return err
	})
}

// feedInstigator reads the member who made all changes and returns its JSON.
func feedInstigator(ctx context.Context, q db.Querier, id int64) ([]byte, error) {
	var name, nick, email string
	var role int64
	if err := q.QueryRow(ctx, feedActor, id).Scan(&name, &nick, &email, &role); err != nil {
		return nil, err
	}
	w := fmt.Appendf(nil, `{"_oid":"Member:%d","href":"%s/assetdetail.v1?oid=Member:%d","name":`, id, rig.Public, id)
	w = appendText(append(appendText(w, []byte(name)), `,"nickName":`...), []byte(nick))
	w = appendText(append(w, `,"email":`...), []byte(email))
	return fmt.Appendf(w, `,"role":"Role:%d","avatar":null}`, role+1000), nil
}

func (r *feedRow) appendEvent(w []byte, a feedAudit, actor []byte, values bool) ([]byte, error) {
	kind := "Changed"
	if r.created {
		kind = "Created"
	}
	w = strconv.AppendInt(append(w, `{"sequenceId":`...), r.moment, 10)
	w = append(append(w, `,"eventType":"Asset`...), kind...)
	w = time.UnixMicro(a.at).UTC().AppendFormat(append(w, `","timestamp":"`...), "2006-01-02T15:04:05.0000000Z")
	w = append(append(w, `","requestId":"`...), a.request...)
	w = append(append(w, `","instigator":`...), actor...)
	w = strconv.AppendInt(append(w, `,"targetAsset":{"_oid":"Story:`...), r.id, 10)
	w = strconv.AppendInt(append(w, ':'), r.moment, 10)
	w = append(append(w, `","assetType":"Story","href":"`...), rig.Public...)
	w = strconv.AppendInt(append(w, `/assetdetail.v1?oid=Story:`...), r.id, 10)
	w, err := r.appendChanges(append(w, `"},"changes":[`...))
	if err != nil {
		return nil, err
	}
	w = strconv.AppendInt(append(w, `],"snapshot":[{"_oid":"Story:`...), r.id, 10)
	w = append(w, '"')
	if values {
		w = append(appendText(append(w, `,"Name":`...), r.now[0]), `,"Estimate":"`...)
		w = append(append(w, r.now[1]...), `","Owners.Name":[`...)
		for i, name := range r.ownerNames {
			if i > 0 {
				w = append(w, ',')
			}
			w = appendText(w, []byte(name))
		}
		w = append(w, ']')
	}
	return append(w, "}]}"...), nil
}

func (r *feedRow) appendChanges(w []byte) ([]byte, error) {
	for _, s := range shown {
		if s.column == "" {
			for _, o := range r.owners {
				member := fmt.Sprintf(`{"_oid":"Member:%d"}`, o.id)
				if o.added {
					w = append(w, `{"name":"Owners","new":`+member+`,"act":"Added"},`...)
				} else {
					w = append(w, `{"name":"Owners","old":`+member+`,"act":"Removed"},`...)
				}
			}
			continue
		}
		i := slices.Index(compared, s.column)
		if bytes.Equal(r.now[i], r.was[i]) {
			continue
		}
		w = append(append(append(w, `{"name":"`...), s.attribute...), '"')
		for k, v := range [][]byte{r.was[i], r.now[i]} {
			if v == nil {
				continue
			}
			w = append(w, [2]string{`,"old":`, `,"new":`}[k]...)
			var err error
			if w, err = appendShown(w, s.column, v); err != nil {
				return nil, err
			}
		}
		w = append(w, `,"act":"Set"},`...)
	}
	return w[:len(w)-1], nil
}

// appendShown appends the value of a column.
func appendShown(w []byte, column string, v []byte) ([]byte, error) {
	switch column {
	case "state":
		return append(w, `"Active"`...), nil
	case "scope_id":
		return append(append(append(w, `{"_oid":"Scope:`...), v...), `"}`...), nil
	case "attrs":
		var more struct{ Reference string }
		err := json.Unmarshal(v, &more)
		return appendText(w, []byte(more.Reference)), err
	}
	return appendText(w, v), nil
}
