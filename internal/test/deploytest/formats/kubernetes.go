package main

import (
	"bytes"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// objects returns an empty object for each kind of manifest in this repository. The key is "version kind".
var objects = map[string]func() any{
	"v1 ConfigMap":                  func() any { return &corev1.ConfigMap{} },
	"v1 Secret":                     func() any { return &corev1.Secret{} },
	"v1 Service":                    func() any { return &corev1.Service{} },
	"apps/v1 Deployment":            func() any { return &appsv1.Deployment{} },
	"batch/v1 Job":                  func() any { return &batchv1.Job{} },
	"policy/v1 PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
}

// kubernetes decodes each document of each file. It returns an error for unknown fields, for duplicate
// fields, and for fields whose case differs.
func kubernetes(files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, document := range bytes.Split(text, []byte("\n---\n")) {
			kind, err := decode(document)
			if err != nil {
				return fmt.Errorf("%s, document %d: %w", file, i+1, err)
			}
			fmt.Println(kind)
		}
	}
	return nil
}

func decode(document []byte) (kind string, err error) {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(document, &head); err != nil {
		return "", err
	}
	kind = head.APIVersion + " " + head.Kind
	object, ok := objects[kind]
	if !ok {
		return "", fmt.Errorf("%s is no kind that is known here", kind)
	}
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return "", err
	}
	problems, err := json.UnmarshalStrict(text, object())
	if err == nil && len(problems) > 0 {
		err = problems[0]
	}
	return kind, err
}
