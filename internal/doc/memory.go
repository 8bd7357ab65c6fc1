package doc

import "bytes"

// The memory of one value in bytes: its node, its key, and what an engine makes of it
// until the request ends. Measured with bodies of commands and of numbers,
// those of XML with many elements, many attributes, and one text.
const (
	costJSON = 512
	costYAML = 768

	costElement = 640 // of XML
	costAttr    = 256

	// The memory of texts, in times the body.
	texts    = 2 // what is read, and what an engine makes of it
	textsXML = 5 // while they are put together
)

// MemoryNeed estimates the bytes that reading and executing a body takes besides the
// body itself: that of its texts and a cost for each value. It counts separators, in
// YAML and XML also those inside of texts, so that the estimate is hardly ever too low.
func MemoryNeed(body []byte, f Format) int64 {
	size := int64(len(body))
	switch f {
	case XML:
		tags := bytes.Count(body, []byte("<")) - bytes.Count(body, []byte("</"))
		return textsXML*size + int64(tags)*costElement + int64(bytes.Count(body, []byte("=")))*costAttr
	case YAML:
		return texts*size + int64(separatorsYAML(body))*costYAML
	}
	return texts*size + int64(separators(body))*costJSON
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
