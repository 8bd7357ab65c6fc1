package main

import (
	"bytes"
	"context"
	"database/sql"
	"strconv"

	"github.com/alds-dev/alds/internal/store/db"
)

// storyRow is a story as the pages show it.
type storyRow struct {
	id, moment            int64
	name, status, timebox []byte
	estimate              float64
}

const storyColumns = `a.id, a.moment, a.name, a.estimate, st.name, tb.name`

func floorPage(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	return floorStories(ctx, q, w, "a.scope_id = ?", "a.order_key, a.id", busyScope(n))
}

func floorPageOfStatus(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	return floorStories(ctx, q, w, "a.scope_id = ? AND a.status_id = 134", "a.order_key, a.id", busyScope(n))
}

func floorPageByID(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
	return floorStories(ctx, q, w, "a.scope_id = ?", "a.id", busyScope(n))
}

func floorPointOwners(ctx context.Context, q db.Querier, id int64, w []byte) ([]byte, error) {
	return floorStories(ctx, q, w, "a.id = ?", "a.id", id)
}

// floorStories answers with the first fifty stories that satisfy a condition. In the condition, the
// table asset has the alias a.
func floorStories(ctx context.Context, q db.Querier, w []byte, where, order string, args ...any) ([]byte, error) {
	list, err := readStories(ctx, q, `SELECT `+storyColumns+` FROM asset a LEFT JOIN asset st ON st.id = a.status_id
		LEFT JOIN asset tb ON tb.id = a.timebox_id
		WHERE `+where+` AND a.type = 4 AND a.state <> 255 ORDER BY `+order+` LIMIT 50`, args...)
	if err != nil {
		return nil, err
	}
	owners, err := readOwners(ctx, q, list)
	if err != nil {
		return nil, err
	}
	return appendStories(w, list, owners, false), nil
}

// floorAsOf reads the page as of a moment from the versions.
func floorAsOf(moment int64) answer {
	return func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
		list, err := readStories(ctx, q, `SELECT `+storyColumns+` FROM asset_version a
			LEFT JOIN asset_version st ON st.id = a.status_id AND st.moment <= ? AND st.until_moment > ?
			LEFT JOIN asset_version tb ON tb.id = a.timebox_id AND tb.moment <= ? AND tb.until_moment > ?
			WHERE a.scope_id = ? AND a.type = 4 AND a.state <> 255 AND a.moment <= ? AND a.until_moment > ?
			ORDER BY a.order_key, a.id LIMIT 50`, moment, moment, moment, moment, busyScope(n), moment, moment)
		if err != nil {
			return nil, err
		}
		owners, err := readOwnersAt(ctx, q, list, moment)
		if err != nil {
			return nil, err
		}
		return appendStories(w, list, owners, true), nil
	}
}

func readStories(ctx context.Context, q db.Querier, query string, args ...any) ([]storyRow, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := make([]storyRow, 0, 50)
	for rows.Next() {
		var s storyRow
		if err := rows.Scan(&s.id, &s.moment, &s.name, &s.estimate, &s.status, &s.timebox); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// ownerNames has the names of owners, and for each name the id of the story.
type ownerNames struct {
	of    []int64
	names [][]byte
}

func readOwners(ctx context.Context, q db.Querier, list []storyRow) (ownerNames, error) {
	return readNames(ctx, q, list, `SELECT l.from_id, m.name FROM asset_link l JOIN asset m ON m.id = l.to_id
		WHERE l.relation = 1 AND l.from_type = 4 AND l.until_moment = 9223372036854775807`)
}

func readOwnersAt(ctx context.Context, q db.Querier, list []storyRow, moment int64) (ownerNames, error) {
	return readNames(ctx, q, list, `SELECT l.from_id, m.name FROM asset_link l
		JOIN asset_version m ON m.id = l.to_id AND m.moment <= ? AND m.until_moment > ?
		WHERE l.relation = 1 AND l.from_type = 4 AND l.since_moment <= ? AND l.until_moment > ?`, moment, moment, moment, moment)
}

func readNames(ctx context.Context, q db.Querier, list []storyRow, query string, args ...any) (ownerNames, error) {
	var o ownerNames
	if len(list) == 0 {
		return o, nil
	}
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].id
	}
	in, more := db.InArgs(ids)
	rows, err := q.Query(ctx, query+` AND l.from_id IN `+in+` ORDER BY l.from_id, l.to_id`, append(args, more...)...)
	if err != nil {
		return o, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var name []byte
		if err := rows.Scan(&id, &name); err != nil {
			return o, err
		}
		o.of, o.names = append(o.of, id), append(o.names, name)
	}
	return o, rows.Err()
}

func appendStories(w []byte, list []storyRow, owners ownerNames, moments bool) []byte {
	w = append(w, "[["...)
	for i, s := range list {
		if i > 0 {
			w = append(w, ',')
		}
		w = appendOID(w, "Story", s.id)
		if moments {
			w = append(w[:len(w)-1], ':')
			w = strconv.AppendInt(w, s.moment, 10)
			w = append(w, '"')
		}
		w = append(w, `,"Name":`...)
		w = appendText(w, s.name)
		w = append(w, `,"Estimate":`...)
		w = appendNumber(w, s.estimate)
		w = append(w, `,"Status.Name":`...)
		w = appendNull(w, s.status)
		w = append(w, `,"Timebox.Name":`...)
		w = appendNull(w, s.timebox)
		w = append(w, `,"Owners.Name":[`...)
		for k, of := range owners.of {
			if of == s.id {
				if !bytes.HasSuffix(w, []byte{'['}) {
					w = append(w, ',')
				}
				w = appendText(w, owners.names[k])
			}
		}
		w = append(w, "]}"...)
	}
	return append(w, "]]"...)
}

func floorPoint(ctx context.Context, q db.Querier, id int64, w []byte) ([]byte, error) {
	var name, number, scope, status sql.RawBytes
	var estimate float64
	rows, err := q.Query(ctx, `SELECT a.name, a.number, a.estimate, sc.name, st.name FROM asset a
		LEFT JOIN asset sc ON sc.id = a.scope_id LEFT JOIN asset st ON st.id = a.status_id
		WHERE a.id = ? AND a.type = 4 AND a.state <> 255`, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&name, &number, &estimate, &scope, &status); err != nil {
			return nil, err
		}
		w = appendAsset(w, id)
		w = append(w, `"Name":{"_type":"Attribute","name":"Name","value":`...)
		w = appendText(w, name)
		w = append(w, `},"Number":{"_type":"Attribute","name":"Number","value":`...)
		w = appendText(w, number)
		w = append(w, `},"Estimate":{"_type":"Attribute","name":"Estimate","value":`...)
		w = strconv.AppendFloat(w, estimate, 'f', -1, 64)
		w = append(w, `},"Scope.Name":{"_type":"Attribute","name":"Scope.Name","value":`...)
		w = appendNull(w, scope)
		w = append(w, `},"Status.Name":{"_type":"Attribute","name":"Status.Name","value":`...)
		w = appendNull(w, status)
		w = append(w, `}}}`...)
	}
	return w, rows.Err()
}

func appendAsset(w []byte, id int64) []byte {
	w = append(w, `{"_type":"Asset","href":"/alds/rest-1.v1/Data/Story/`...)
	w = strconv.AppendInt(w, id, 10)
	w = append(w, `","id":"Story:`...)
	w = strconv.AppendInt(w, id, 10)
	return append(w, `","Attributes":{`...)
}
