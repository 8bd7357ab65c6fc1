package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/token"
)

// Agg is an aggregate, as written after ".@".
type Agg string

// The aggregates. None is no aggregate.
const (
	None          Agg = ""
	Sum           Agg = "Sum"
	Count         Agg = "Count"
	DistinctCount Agg = "DistinctCount"
	Min           Agg = "Min"
	Max           Agg = "Max"
	MinDate       Agg = "MinDate"
	MaxDate       Agg = "MaxDate"
	AllOf         Agg = "And"
	AnyOf         Agg = "Or"
	MaxState      Agg = "MaxState"
)

// aggregate checks that the aggregate exists and fits the kind of value.
func (b *binder) aggregate(p *Path, src token.Path) error {
	if src.Agg == "" {
		return nil
	}
	fits, ok := aggregates[Agg(src.Agg)]
	if !ok {
		return badToken(src.AggAt, src.String(), "unknown aggregate "+src.Agg)
	}
	if kind := p.Kind(); !fits(kind) {
		return badToken(src.AggAt, src.String(), "@"+src.Agg+" does not apply to "+string(kind))
	}
	p.Agg = Agg(src.Agg)
	return nil
}

// aggregates maps each aggregate to a function that reports whether it accepts a kind of value.
var aggregates = map[Agg]func(meta.Kind) bool{
	Sum: value.IsNumber, Min: value.IsNumber, Max: value.IsNumber,
	Count: anyKind, DistinctCount: anyKind,
	MinDate: isKind(meta.Date), MaxDate: isKind(meta.Date),
	AllOf: isKind(meta.Boolean), AnyOf: isKind(meta.Boolean),
	MaxState: isKind(meta.State),
}

func anyKind(meta.Kind) bool { return true }

func isKind(want meta.Kind) func(meta.Kind) bool {
	return func(k meta.Kind) bool { return k == want }
}
