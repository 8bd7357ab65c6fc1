package db

import "strings"

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

// In returns the placeholders of an IN list for n values, padded: In(3) is
// "(?,?,?,?)". The caller repeats its last value to fill it, as InArgs does.
func In(n int) string {
	return "(" + strings.Repeat("?,", InSize(n)-1) + "?)"
}

// InArgs returns the placeholders and arguments of an IN list of ids, padded by
// repeating the last one. No ids give "(NULL)", which nothing is in.
func InArgs(ids []int64) (placeholders string, args []any) {
	return InArgsOf(ids)
}

// InArgsOf is InArgs for any type of value.
func InArgsOf[T any](values []T) (placeholders string, args []any) {
	if len(values) == 0 {
		return "(NULL)", nil
	}
	args = make([]any, InSize(len(values)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return In(len(values)), args
}
