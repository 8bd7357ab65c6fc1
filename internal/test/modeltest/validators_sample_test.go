package modeltest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// sample tests each operation of each type once, on a random asset in a random state. It prefers states in
// which the operation may run. It also tests updates of one asset of each type.
func (v *validation) sample(r *rand.Rand) {
	byType := map[string][]oid.OID{}
	for _, o := range v.everything() {
		byType[o.Type] = append(byType[o.Type], o)
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		t, o := v.typ(name), byType[name][r.IntN(len(byType[name]))]
		ops := map[int][]*meta.Op{} // by state
		for _, op := range t.Ops {
			if op.Validator != "" {
				state := stateFor(r, op)
				ops[state] = append(ops[state], op)
			}
		}
		was := v.state(t.Stored(o.ID))
		updated := states[r.IntN(len(states))]
		for _, state := range states {
			if len(ops[state]) == 0 && state != updated {
				continue
			}
			v.set(t.Stored(o.ID), state)
			for _, op := range ops[state] {
				v.operation(o, state, op)
			}
			if state == updated {
				v.update(o, t, state)
			}
		}
		v.set(t.Stored(o.ID), was)
	}
	if v.ran == 0 || v.ran == v.tried || v.allowed == 0 || v.allowed == v.asked {
		v.Errorf("%d of %d operations ran; members were allowed %d of %d", v.ran, v.tried, v.allowed, v.asked)
	}
}

// stateFor returns a state in which the test tries an operation. In two of three cases it is one in which
// the operation may run.
func stateFor(r *rand.Rand, op *meta.Op) int {
	if in := slices.Concat(op.Effect.From, op.Effect.Offered); len(in) > 0 && r.IntN(3) > 0 {
		return in[r.IntN(len(in))]
	}
	return states[r.IntN(len(states))]
}
