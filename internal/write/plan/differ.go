package plan

import (
	"bytes"
	"strconv"

	"github.com/alds-dev/alds/internal/model/value"
)

// maxListed is the largest number of differences that an answer lists. It counts all of them.
const maxListed = 100

// differs is the message of a plan that is not carried out.
const differs = "Nothing was changed: the effect would not be the one that the plan shows"

// differences returns the answer for a plan whose effect would not be the same any more, or nil if it would. The
// parameters are effects as they are stored.
//
//	{"applied":false,"error":"…","exceptions":[…],"differences":{"list":[{"planned":{…}},{"now":{…}}],"count":2,"hidden":0}}
func differences(planned, now []byte) []byte {
	if bytes.Equal(planned, now) {
		return nil
	}
	counts := map[string]int{}
	for line := range bytes.SplitSeq(planned, []byte{'\n'}) {
		counts[string(unmarked(line))]++
	}
	for line := range bytes.SplitSeq(now, []byte{'\n'}) {
		counts[string(unmarked(line))]--
	}
	var list []byte
	listed, all, hidden := 0, 0, 0
	add := func(as string, line []byte) {
		all++
		switch {
		case line[0] == hiddenMark:
			hidden++
		case listed < maxListed:
			if listed++; listed > 1 {
				list = append(list, ',')
			}
			list = append(append(append(append(list, `{"`...), as...), `":`...), line...)
			list = append(list, '}')
		}
	}
	for line := range bytes.SplitSeq(planned, []byte{'\n'}) {
		if n := counts[string(unmarked(line))]; n > 0 && len(line) > 0 {
			counts[string(unmarked(line))] = n - 1
			add("planned", line)
		}
	}
	for line := range bytes.SplitSeq(now, []byte{'\n'}) {
		if n := counts[string(unmarked(line))]; n < 0 && len(line) > 0 {
			counts[string(unmarked(line))] = n + 1
			add("now", line)
		}
	}
	if all == 0 {
		return nil // only the order differs, or who may see what
	}
	why := value.AppendString(nil, differs)
	b := append(append([]byte(`{"applied":false,"error":`), why...), `,"exceptions":[{"message":`...)
	b = append(append(append(b, why...), `}],"differences":{"list":[`...), list...)
	b = strconv.AppendInt(append(b, `],"count":`...), int64(all), 10)
	return append(strconv.AppendInt(append(b, `,"hidden":`...), int64(hidden), 10), `}}`...)
}

// unmarked returns a line of a stored effect without hiddenMark.
func unmarked(line []byte) []byte { return bytes.TrimPrefix(line, []byte{hiddenMark}) }
