package release

import (
	"fmt"
	"strconv"
	"strings"
)

// Number is the number of this release: major.minor.patch. During development it is the number of
// the next release.
const Number = "0.2.0"

// each is greater than every part of a release number.
const each = 1_000_000

// Rank returns a number for a release: a later release has a larger number. It reads the beginning
// of a version such as "0.1.0" or "0.1.0+20261122.c129ddd40dd1". It returns 0 for a version without
// a release, such as "(devel)".
func Rank(version string) int64 {
	number, _, _ := strings.Cut(version, "+")
	parts := strings.Split(number, ".")
	if len(parts) != 3 {
		return 0
	}
	rank := int64(0)
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || n >= each {
			return 0
		}
		rank = rank*each + int64(n)
	}
	return rank
}

// Of returns the number of the release with a rank, or "" if the rank is 0.
func Of(rank int64) string {
	if rank <= 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", rank/each/each, rank/each%each, rank%each)
}
