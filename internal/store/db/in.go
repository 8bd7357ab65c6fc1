package db

import (
	"iter"
	"slices"
	"strings"
)

// MaxIn is the maximum number of values in one IN list. MariaDB rewrites a list of more than
// about a thousand values into a join.
const MaxIn = 500

var inSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128, 256, MaxIn}

// InSize returns the length to which an IN list of n values is padded, so that few different
// statements exist. It panics when n is above MaxIn.
func InSize(n int) int {
	for _, size := range inSizes {
		if n <= size {
			return size
		}
	}
	panic("db: IN list longer than MaxIn")
}

// InArgs returns the placeholders and arguments of an IN list, padded with copies of the last
// value: three values give "(?,?,?,?)". No values give "(NULL)", which matches nothing. It
// panics on more than MaxIn values.
func InArgs[T any](values []T) (placeholders string, args []any) {
	if len(values) == 0 {
		return "(NULL)", nil
	}
	args = make([]any, InSize(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return "(" + strings.Repeat("?,", len(args)-1) + "?)", args
}

// InChunks returns the IN lists for any number of values, at most MaxIn in each, in the form of
// InArgs. Without values it returns no lists. The caller may append to the arguments.
func InChunks[T any](values []T) iter.Seq2[string, []any] {
	return func(yield func(string, []any) bool) {
		for part := range slices.Chunk(values, MaxIn) {
			if !yield(InArgs(part)) {
				return
			}
		}
	}
}
