package check

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/value"
)

// contents expects every content that a version refers to to be there, with its
// size, and to be kept. Its bytes are verified by package blob.
func (c *checker) contents(ctx context.Context) error {
	kept := map[string]bool{}
	err := c.each(ctx, func(scan row) error {
		var hash string
		var size int64
		if err := scan(&hash, &size); err != nil {
			return err
		}
		kept[fmt.Sprintf("sha256:%s:%d", hash, size)] = true
		return nil
	}, `SELECT hash, size FROM blob_content WHERE hash IS NOT NULL AND kept = 1`)
	if err != nil {
		return err
	}
	shapes := c.shapes()
	for _, table := range []string{"asset", "asset_version"} {
		if err := c.contentsOf(ctx, table, shapes, kept); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) contentsOf(ctx context.Context, table string, shapes map[*meta.Type]*shape, kept map[string]bool) error {
	var codes []string
	for t, s := range shapes {
		for _, a := range s.keys {
			if a.Kind == meta.Blob {
				codes = append(codes, fmt.Sprint(t.Code))
			}
		}
	}
	if len(codes) == 0 {
		return nil
	}
	var id, moment int64
	var code int
	var attrs sql.RawBytes
	return c.each(ctx, func(scan row) error {
		if err := scan(&id, &moment, &code, &attrs); err != nil {
			return err
		}
		s := shapes[c.concrete(code)]
		lost := ""
		_ = value.Members(attrs, func(key string, v jsontext.Token) error { // attributes reports what is no JSON
			if a, ok := s.keys[key]; ok && a.Kind == meta.Blob && v.Kind() == '"' && v.String() != "" && !kept[v.String()] {
				lost = fmt.Sprintf("%s is %.100s, which is not kept", a.Token(), v.String())
			}
			return nil
		})
		if lost == "" {
			return nil
		}
		return c.report(table, id, "moment %d: %s", moment, lost)
	}, `SELECT id, moment, type, attrs FROM `+table+` WHERE type IN (`+strings.Join(codes, ", ")+`) AND attrs IS NOT NULL ORDER BY id, moment`)
}
