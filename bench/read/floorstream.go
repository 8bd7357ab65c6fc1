package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Queries for the changes in an activity stream. The stream of a story includes changes of its
// parts, and of relations that other assets change. The second query is for a project.
const (
	ofStory = `SELECT * FROM (SELECT id, moment FROM asset_version WHERE id = ? ORDER BY moment DESC LIMIT 25) a
		UNION ALL SELECT * FROM (SELECT id, moment FROM asset_version WHERE parent_id = ? ORDER BY moment DESC LIMIT 25) b
		UNION ALL SELECT * FROM (SELECT id, moment FROM asset_version WHERE super_id = ? ORDER BY moment DESC LIMIT 25) c
		UNION ALL SELECT * FROM (SELECT v.id, v.moment FROM asset_link l JOIN asset_version v ON v.id = l.from_id
			WHERE l.relation IN (81, 85, 86, 87, 88) AND l.to_id = ? ORDER BY v.moment DESC LIMIT 25) d
		UNION ALL SELECT * FROM (SELECT l.from_id, v.moment FROM asset_link l JOIN asset_version v ON v.id = l.to_id AND v.moment = l.since_moment
			WHERE l.relation IN (1, 2, 5, 10) AND l.from_type = 4 AND l.from_id = ? ORDER BY v.moment DESC LIMIT 25) e
		UNION ALL SELECT * FROM (SELECT l.from_id, v.moment FROM asset_link l JOIN asset_version v ON v.id = l.to_id AND v.moment = l.until_moment
			WHERE l.relation IN (1, 2, 5, 10) AND l.from_type = 4 AND l.from_id = ? ORDER BY v.moment DESC LIMIT 25) f
		UNION ALL SELECT * FROM (SELECT l.to_id, v.moment FROM asset_link l JOIN asset_version v ON v.id = l.from_id AND v.moment = l.since_moment
			WHERE l.relation IN (80, 5, 15, 50, 51, 57, 69, 70) AND l.to_id = ? ORDER BY v.moment DESC LIMIT 25) g
		UNION ALL SELECT * FROM (SELECT l.to_id, v.moment FROM asset_link l JOIN asset_version v ON v.id = l.from_id AND v.moment = l.until_moment
			WHERE l.relation IN (80, 5, 15, 50, 51, 57, 69, 70) AND l.to_id = ? ORDER BY v.moment DESC LIMIT 25) h`
	ofProject = `SELECT id, moment FROM asset_version WHERE scope_id = ? ORDER BY moment DESC LIMIT 25`
)

// Queries for the assets that left a story or a project after a moment.
const (
	leftStory = `SELECT n.id FROM asset_version k JOIN asset_version n ON n.id = k.id AND n.moment = k.until_moment
		WHERE k.parent_id = ? AND k.until_moment BETWEEN ? AND 9223372036854775806 AND (n.parent_id IS NULL OR n.parent_id <> ?)
		UNION ALL SELECT n.id FROM asset_version k JOIN asset_version n ON n.id = k.id AND n.moment = k.until_moment
		WHERE k.super_id = ? AND k.until_moment BETWEEN ? AND 9223372036854775806 AND (n.super_id IS NULL OR n.super_id <> ?)`
	leftProject = `SELECT n.id FROM (SELECT id, until_moment FROM asset_version WHERE scope_id = ? ORDER BY moment DESC LIMIT 4000) k
		JOIN asset_version n ON n.id = k.id AND n.moment = k.until_moment WHERE k.until_moment >= ? AND n.scope_id <> ?`
)

// compared are the columns whose changes are shown. In the data of this bench, only the values of
// the first two columns change.
var compared = strings.Fields(`name estimate state number description scope_id parent_id super_id timebox_id team_id status_id priority_id source_id
	category_id order_key todo detail_estimate value begin_date end_date attrs`)

var streamQuery = func() string {
	var all []string
	for _, of := range []string{"v.", "p."} {
		for _, c := range compared {
			all = append(all, of+c)
		}
	}
	return `SELECT v.id, v.moment, u.at, u.request_id, o.name, o.number, s.id, s.name, m.id, m.name, JSON_VALUE(m.attrs, '$.Username'), JSON_VALUE(m.attrs, '$.Email'), ` +
		strings.Join(all, ", ") + ` FROM (` // a query for changes follows, such as ofStory
}()

const streamJoins = `) k JOIN asset_version v ON v.id = k.id AND v.moment = k.moment
	LEFT JOIN asset_version p ON p.id = k.id AND p.moment = (SELECT b.moment FROM asset_version b WHERE b.id = k.id AND b.moment < k.moment
		ORDER BY b.moment DESC LIMIT 1)
	JOIN audit u ON u.id = v.audit_id JOIN asset o ON o.id = v.id LEFT JOIN asset s ON s.id = o.scope_id LEFT JOIN asset m ON m.id = u.actor_id
	ORDER BY v.moment DESC LIMIT 25`

// streamRow is an item of the stream. Its relations are read later.
type streamRow struct {
	id, moment, at, scope, actor                                 int64
	request, name, number, scopeName, actorName, username, email string
	nameNow, nameBefore, estimateNow, estimateBefore             sql.NullString
	owners                                                       []ownerChange
}

type ownerChange struct {
	id    int64
	name  string
	added bool
}

func floorStream(ctx context.Context, q db.Querier, typ string, id int64, places, left string, w []byte) ([]byte, error) {
	list, err := streamRows(ctx, q, places, id)
	if err != nil {
		return nil, err
	}
	var args []any
	for range strings.Count(left, "?") / 3 {
		args = append(args, id, list[len(list)-1].moment, id)
	}
	gone, err := db.Column[int64](ctx, q, left, args...)
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 {
		return nil, errOtherChange
	}
	if err := streamOwners(ctx, q, list); err != nil {
		return nil, err
	}
	w = append(w, '[')
	for i := range list {
		if i > 0 {
			w = append(w, ',')
		}
		w = list[i].append(w, typ, id)
	}
	return append(w, ']'), nil
}

var errOtherChange = errors.New("a change of a kind that this floor does not support")

func streamRows(ctx context.Context, q db.Querier, places string, id int64) ([]streamRow, error) {
	args := make([]any, strings.Count(places, "?"))
	for i := range args {
		args[i] = id
	}
	rows, err := q.Query(ctx, streamQuery+places+streamJoins, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := make([]streamRow, 0, 25)
	n := len(compared)
	raw := make([]sql.RawBytes, 2*n)
	for rows.Next() {
		var r streamRow
		into := []any{&r.id, &r.moment, &r.at, &r.request, &r.name, &r.number, &r.scope, &r.scopeName, &r.actor, &r.actorName, &r.username, &r.email}
		for i := range raw {
			into = append(into, &raw[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i := range n {
			if bytes.Equal(raw[i], raw[n+i]) {
				continue
			}
			switch i {
			case 0:
				r.nameNow, r.nameBefore = text(raw[i]), text(raw[n+i])
			case 1:
				r.estimateNow, r.estimateBefore = text(raw[i]), text(raw[n+i])
			default:
				return nil, errOtherChange
			}
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func text(raw sql.RawBytes) sql.NullString { return sql.NullString{String: string(raw), Valid: true} }

// streamOwners reads the relations that began or ended with the changes.
func streamOwners(ctx context.Context, q db.Querier, list []streamRow) error {
	if len(list) == 0 {
		return nil
	}
	at := map[[2]int64]*streamRow{}
	ids := make([]int64, len(list))
	for i := range list {
		at[[2]int64{list[i].id, list[i].moment}] = &list[i]
		ids[i] = list[i].id
	}
	in, args := db.InArgs(ids)
	first, last := list[len(list)-1].moment, list[0].moment
	args = append(args, first, last, first, last)
	const during = ` AND (l.since_moment BETWEEN ? AND ? OR l.until_moment BETWEEN ? AND ?)`
	rows, err := q.Query(ctx, `SELECT l.from_id, l.to_id, m.name, l.since_moment, l.until_moment FROM asset_link l JOIN asset m ON m.id = l.to_id
		WHERE l.relation IN (1, 2, 5, 10) AND l.from_type = 4 AND l.from_id IN `+in+during+`
		UNION ALL SELECT l.to_id, l.from_id, m.name, l.since_moment, l.until_moment FROM asset_link l JOIN asset m ON m.id = l.from_id
		WHERE l.relation IN (5, 15, 50, 51, 57, 69, 70, 80) AND l.to_id IN `+in+during+`
		UNION ALL SELECT l.from_id, 0, l.value, l.since_moment, l.until_moment FROM asset_value l
		WHERE l.attribute IN (1, 2) AND l.from_type = 4 AND l.from_id IN `+in+during, slices.Concat(args, args, args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var from, since, until int64
		var c ownerChange
		if err := rows.Scan(&from, &c.id, &c.name, &since, &until); err != nil {
			return err
		}
		if r := at[[2]int64{from, until}]; r != nil {
			r.owners = append(r.owners, c)
		}
		if r := at[[2]int64{from, since}]; r != nil {
			c.added = true
			r.owners = append(r.owners, c)
		}
	}
	return rows.Err()
}

func appendReference(w []byte, typ string, id int64, name string) []byte {
	w = append(append(w, `{"id":"`...), typ...)
	w = strconv.AppendInt(append(w, ':'), id, 10)
	w = append(append(append(w, `","assetType":"`...), typ...), `","displayName":`...)
	return append(appendText(w, []byte(name)), `,"assetState":"Active"}`...)
}

func (r *streamRow) append(w []byte, typ string, id int64) []byte {
	w = strconv.AppendInt(append(w, `{"body":{"actor":{"id":"Member:`...), r.actor, 10)
	w = appendText(append(w, `","assetType":"Member","displayName":`...), []byte(r.actorName))
	w = appendText(append(w, `,"username":`...), []byte(r.username))
	w = appendText(append(w, `,"email":`...), []byte(r.email))
	w = append(w, `,"avatar":null},"verb":"Updated","object":`...)
	w = appendReference(w, "Story", r.id, r.name)
	w = appendText(append(w[:len(w)-1], `,"number":`...), []byte(r.number))
	w = appendReference(append(w, `,"scope":`...), "Scope", r.scope, r.scopeName)
	w = time.UnixMicro(r.at).UTC().AppendFormat(append(w, `},"time":"`...), "2006-01-02T15:04:05.0000000Z")
	w = appendText(append(w, `","summary":`...), []byte(r.actorName+" Updated Story '"+r.name+"'"))
	w = append(append(w, `,"provider":{"stream":"`...), typ...)
	w = strconv.AppendInt(append(w, ':'), id, 10)
	w = strconv.AppendInt(append(w, `","commitSeq":`...), r.moment, 10)
	w = appendText(append(w, `,"commitId":`...), []byte(r.request))
	w = append(w, `},"target":[`...)
	if r.nameNow.Valid {
		w = appendTarget(w, "Name", r.nameNow.String, r.nameBefore.String)
	}
	for _, o := range r.owners {
		now, was, verb := `""`, string(appendReference(nil, "Member", o.id, o.name)), "Removed"
		if o.added {
			now, was, verb = was, now, "Added"
		}
		w = append(w, `{"name":"Owners","newValue":`+now+`,"oldValue":`+was+`,"verb":"`+verb+`","summary":`...)
		w = append(appendText(w, []byte("Owners was "+verb+" '"+o.name+"'")), "},"...)
	}
	w = appendTarget(w, "Estimate", r.estimateNow.String+".00", r.estimateBefore.String+".00")
	return append(w[:len(w)-1], "]}}"...)
}

func appendTarget(w []byte, name, now, was string) []byte {
	w = appendText(append(w, `{"name":"`+name+`","newValue":`...), []byte(now))
	w = appendText(append(w, `,"oldValue":`...), []byte(was))
	w = append(w, `,"verb":"Set","summary":`...)
	return append(appendText(w, []byte(name+" was Set to '"+now+"'")), "},"...)
}
