package document

import "bytes"

// The memory that one value needs, in bytes: its node, its key, and the data that is made from it
// while the request is executed. The numbers were measured with bodies of commands and of numbers,
// and with XML bodies that have many elements, many attributes, or one text.
const (
	costJSON = 512
	costYAML = 768

	costElement = 640 // element of XML
	costAttr    = 256 // attribute of XML

	// The memory that the texts of a body need, as a multiple of the size of the body.
	texts    = 2 // the parsed texts, and the data that is made from them during execution
	textsXML = 5 // more than texts, because the parts of an XML text are joined
)

// MemoryNeed estimates the bytes that parsing and executing a body need besides the body itself.
// They are the memory for its texts, and a cost for each value. To estimate the number of values, it
// counts separators. In YAML and XML it also counts separators inside texts, so the estimate is
// rarely too low.
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
