package check

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// contents checks every content (the bytes of an attachment) to which an asset or a version refers.
// The content must exist, have the size in the reference, and be marked as kept. Package blob
// verifies the bytes.
func (c *checker) contents(ctx context.Context) error {
	// The keys of kept are references to contents; the value is true if the content is marked as
	// kept. The hashes of all contents are also keys, with the value false. With them, the method
	// keep finds out whether a content exists.
	kept := map[string]bool{}
	err := c.eachIn(ctx, key{table: "blob_content", column: "id"}, func(scan row) error {
		var hash string
		var size int64
		var isKept bool
		if err := scan(&hash, &size, &isKept); err != nil {
			return err
		}
		kept[fmt.Sprintf("sha256:%s:%d", hash, size)] = isKept
		kept[hash] = false
		return nil
	}, `SELECT hash, size, kept <> 0 FROM blob_content WHERE hash IS NOT NULL AND {id}`)
	if err != nil {
		return err
	}
	shapes := c.shapes()
	if err := c.contentsOf(ctx, "asset", "v.attrs", shapes, kept); err != nil {
		return err
	}
	return c.contentsOf(ctx, "asset_version", db.OfVersion("v", "attrs"), shapes, kept)
}

// contentsOf checks the references in a table. expr is the SQL expression for the attributes of a
// row with the alias v.
func (c *checker) contentsOf(
	ctx context.Context, table, expr string, shapes map[*meta.Type]*shape, kept map[string]bool,
) error {
	return c.typesInUse(ctx, func(t *meta.Type) error {
		keys := shapes[t].keys
		if !slices.ContainsFunc(slices.Collect(maps.Values(keys)), func(a *meta.Attr) bool { return a.Kind == meta.Blob }) {
			return nil
		}
		var id, moment int64
		var attrs sql.RawBytes
		return c.eachIn(ctx, ofType(t.Code), func(scan row) error {
			if err := scan(&id, &moment, &attrs); err != nil {
				return err
			}
			what, lost := "", ""
			_ = value.Members(attrs, func(key string, v jsontext.Token) error { // the check "attributes" reports invalid JSON
				if a, ok := keys[key]; ok && a.Kind == meta.Blob && v.Kind() == '"' && v.String() != "" && !kept[v.String()] {
					what, lost = a.Token(), v.String()
				}
				return nil
			})
			if lost == "" {
				return nil
			}
			c.keep(lost, kept)
			return c.report(table, id,
				"moment %d: %s refers to the content %.100s, which is missing, has another size or may be removed",
				moment, what, lost)
		}, `SELECT v.id, v.moment, `+expr+` FROM asset a JOIN `+table+` v ON v.id = a.id`+
			` WHERE a.type = ? AND {a.id} AND v.type = a.type ORDER BY v.id, v.moment`, t.Code)
	})
}

// keep adds a statement that sets the size of a content to the size in a reference, and marks the
// content as kept. If the content does not exist, keep adds nothing.
func (c *checker) keep(reference string, known map[string]bool) {
	hash, size, ok := strings.Cut(strings.TrimPrefix(reference, "sha256:"), ":")
	if _, there := known[hash]; !ok || !there {
		return
	}
	if n, err := strconv.ParseInt(size, 10, 64); err == nil {
		c.mend(`UPDATE blob_content SET kept = 1, size = ? WHERE hash = ?`, n, hash)
	}
}
