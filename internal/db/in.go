package db

import (
	"iter"
	"slices"
	"strings"
)

// MaxIn is the most values of one IN list; above about a thousand MariaDB
// rewrites the list into a join.
const MaxIn = 500

var inSizes = [...]int{1, 2, 4, 8, 16, 32, 64, 128, 256, MaxIn}

// InSize returns the length an IN list of n values is padded to, so that few
// statement shapes exist. It panics when n is above MaxIn.
func InSize(n int) int {
	for _, size := range inSizes {
		if n <= size {
			return size
		}
	}
	panic("db: IN list longer than MaxIn")
}

// InArgs returns the placeholders and arguments of an IN list, padded by
// repeating the last value: three values give "(?,?,?,?)". No values give
// "(NULL)", which nothing is in. It panics on more than MaxIn values.
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

// InChunks returns the IN lists of any number of values, at most MaxIn each, as
// InArgs does; none for no values. The caller may append to the arguments.
func InChunks[T any](values []T) iter.Seq2[string, []any] {
	return func(yield func(string, []any) bool) {
		for part := range slices.Chunk(values, MaxIn) {
			if !yield(InArgs(part)) {
				return
			}
		}
	}
}
