package doc

// The memory of one value in bytes: its node, its key, and what an engine makes of it
// until the request ends. Measured with bodies of commands and of numbers.
const (
	costJSON = 512
	costYAML = 768
)

// MemoryNeed estimates the bytes that reading and executing a body takes besides the
// body itself: its texts once more, and a cost for each value. It counts separators,
// in YAML also those inside of texts, so that the estimate is hardly ever too low.
func MemoryNeed(body []byte, yaml bool) int64 {
	if yaml {
		return int64(len(body)) + int64(separatorsYAML(body))*costYAML
	}
	return int64(len(body)) + int64(separators(body))*costJSON
}

// separators counts what begins or separates values outside of texts.
func separators(body []byte) int {
	n := 1
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case ',', '[', '{':
			n++
		case '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

func separatorsYAML(body []byte) int {
	n := 1
	for _, c := range body {
		switch c {
		case ',', '[', '{', ':', '\n', '\r', '*':
			n++
		}
	}
	return n
}
