package release

import "testing"

func TestReleasesAreOrdered(t *testing.T) {
	last := int64(0)
	for _, version := range []string{"0.0.1", "0.1.0", "0.1.1", "0.2.0", "0.10.0", "1.0.0", "1.0.999999", "12.0.0"} {
		rank := Rank(version)
		if rank <= last || Of(rank) != version || Rank(version+"+20261122.c129ddd40dd1.dirty") != rank {
			t.Errorf("%s has the rank %d, the one before %d, and is %q", version, rank, last, Of(rank))
		}
		last = rank
	}
	for _, version := range []string{"", "(devel)", "unknown", "v0.0.0-20261122195829-c129ddd40dd1", "1.2", "1.2.3.4", "1.2.x", "1.-2.3", "1.2.1000000"} {
		if rank := Rank(version); rank != 0 {
			t.Errorf("%q has the rank %d", version, rank)
		}
	}
	if Rank(Number) == 0 || Of(0) != "" {
		t.Errorf("%q has no rank, or 0 is a release", Number)
	}
}
