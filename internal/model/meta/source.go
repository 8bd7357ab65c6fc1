package meta

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// source is the content of the files that models are made of. It is read for the first model
// and does not change afterwards, so further models need no parsing.
type source struct {
	file   file
	rights *rightsYAML // nil for models without rights

	types known[fileType]
	attrs known[fileAttr]
	ops   known[fileOp]
}

// known has the content of the nodes of a file that were read before.
type known[T any] map[*yaml.Node]T

// read returns the content of a node, and reads it the first time. It is safe for concurrent
// use once it has been called for every node.
func (k known[T]) read(n *yaml.Node, decode func(*yaml.Node) (T, error)) (T, error) {
	if v, ok := k[n]; ok {
		return v, nil
	}
	v, err := decode(n)
	if err == nil {
		k[n] = v
	}
	return v, err
}

func parse(data []byte) (*source, error) {
	s := &source{types: known[fileType]{}, attrs: known[fileAttr]{}, ops: known[fileOp]{}}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("model.yaml: %w", err)
	}
	if len(root.Content) == 0 {
		return nil, errors.New("model.yaml: empty")
	}
	if err := decode(root.Content[0], &s.file); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) parseRights(data []byte) error {
	s.rights = &rightsYAML{}
	if err := yaml.Unmarshal(data, s.rights); err != nil {
		return fmt.Errorf("rights.yaml: %w", err)
	}
	return nil
}

func decodeType(n *yaml.Node) (fileType, error) {
	var ft fileType
	err := decode(n, &ft)
	return ft, err
}

func decodeOp(n *yaml.Node) (fileOp, error) {
	var op fileOp
	err := decode(n, &op)
	return op, err
}
