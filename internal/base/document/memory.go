package document

import "bytes"

// The memory of one value in bytes: its node, its key, and the data that an engine makes from
// it until the request ends. They were measured with bodies of commands and of numbers, and
// XML bodies with many elements, many attributes, and one text.
const (
	costJSON = 512
	costYAML = 768

	costElement = 640 // of XML
	costAttr    = 256

	// The memory of texts, as a multiple of the body.
	texts    = 2 // the parsed text, and the data that an engine makes from it
	textsXML = 5 // more than texts, because the parts of an XML text are joined
)

// MemoryNeed estimates the bytes that parsing and executing a body need besides the body
// itself: its texts and a cost for each value. It counts separators, in YAML and XML also
// those inside texts, so the estimate is rarely too low.
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

// separators counts the characters that begin or separate values outside texts.
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
