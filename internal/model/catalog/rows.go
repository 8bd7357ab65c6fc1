package catalog

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// row is a stored definition.
type row struct {
	id, state   int64
	typ         *meta.Type
	name        string
	order       int64
	purging     bool   // its values are being removed
	on, related string // names of types: on is the declaring type, or the base of a list
	attrs       attrs
}

// attrs are the values of a definition that are not in columns.
type attrs struct {
	AttributeType, ReverseName, DisplayName string
	IsRequired, IsDateOnly, IsDataDeleted   bool
	Code                                    int
}

// Read returns the definitions that administrators have added. Deleted definitions are returned as
// retired, since some of their data may remain. base is a model of the same release as the
// database; its custom entries do not matter.
func Read(ctx context.Context, q db.Querier, base *meta.Model) (meta.Custom, error) {
	var c meta.Custom
	var codes []int64
	for _, name := range []string{"AssetType", "AttributeDefinition"} {
		t, ok := base.Type(name)
		if !ok {
			return c, nil
		}
		for _, leaf := range t.Concrete {
			codes = append(codes, int64(leaf.Code))
		}
	}
	in, args := db.InArgs(codes)
	rows, err := db.Collect(ctx, q, `SELECT a.id, a.type, a.state, COALESCE(a.name, ''), COALESCE(a.order_key, 0), COALESCE(a.attrs, ''),`+
		` COALESCE(o.name, ''), COALESCE(r.name, ''), p.definition_id IS NOT NULL FROM asset a LEFT JOIN asset o ON o.id = a.parent_id`+
		` LEFT JOIN asset r ON r.id = a.category_id LEFT JOIN definition_purge p ON p.definition_id = a.id WHERE a.type IN `+in+` AND a.id > 0 ORDER BY a.id`, args,
		func(s db.Scanner) (r row, err error) {
			var code int
			var text string
			if err = s.Scan(&r.id, &code, &r.state, &r.name, &r.order, &text, &r.on, &r.related, &r.purging); err == nil {
				r.typ, _ = base.TypeByCode(code)
				r.attrs, err = parse(text)
			}
			return r, err
		})
	for i := range rows {
		rows[i].add(&c)
	}
	return c, err
}

// add adds the definition of a row to c.
func (r *row) add(c *meta.Custom) {
	retired := r.state >= meta.StateClosed
	if r.typ.Name == "AssetType" {
		c.Lists = append(c.Lists, meta.CustomList{
			ID: r.id, Name: r.name, Display: r.attrs.DisplayName, Code: r.attrs.Code, Retired: retired,
			Purging: r.purging, Purged: r.attrs.IsDataDeleted && !r.purging,
		})
		return
	}
	a := meta.CustomAttribute{
		ID: r.id, Type: r.on, Name: r.name, Display: r.attrs.DisplayName, Kind: meta.Kind(r.attrs.AttributeType), DateOnly: r.attrs.IsDateOnly,
		Required: r.attrs.IsRequired, Retired: retired, Purging: r.purging, Purged: r.attrs.IsDataDeleted && !r.purging, Order: float64(r.order), Code: r.attrs.Code,
	}
	if r.typ.Parent != nil && r.typ.Parent.Name == "RelationDefinition" {
		a.Kind, a.To, a.Back, a.Many = meta.Relation, r.related, r.attrs.ReverseName, r.typ.Name == "ManyToManyRelationDefinition"
	}
	c.Attributes = append(c.Attributes, a)
}

// parse reads the JSON of a row. It ignores values of the wrong type.
func parse(text string) (a attrs, err error) {
	err = value.Members(text, func(key string, v jsontext.Token) error {
		switch key {
		case "AttributeType":
			a.AttributeType = textOf(v)
		case "ReverseName":
			a.ReverseName = textOf(v)
		case "DisplayName":
			a.DisplayName = textOf(v)
		case "IsRequired":
			a.IsRequired = isTrue(v)
		case "IsDateOnly":
			a.IsDateOnly = isTrue(v)
		case "IsDataDeleted":
			a.IsDataDeleted = isTrue(v)
		case "Code":
			a.Code = numberOf(v)
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read a definition: %w", err)
	}
	return a, nil
}

func textOf(v jsontext.Token) string {
	if v.Kind() != '"' {
		return ""
	}
	return v.String()
}

func numberOf(v jsontext.Token) int {
	if v.Kind() != '0' {
		return 0
	}
	n, err := v.Float()
	if err != nil {
		return 0
	}
	return int(n)
}

func isTrue(v jsontext.Token) bool { return v.Kind() == 't' }
