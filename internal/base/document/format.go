package document

// Format is the format of a document.
type Format uint8

// The formats. YAML is only read.
const (
	JSON Format = iota
	XML
	YAML
)

// String returns the name of the format in lower case, such as "json".
func (f Format) String() string { return [...]string{"json", "xml", "yaml"}[f] }
