package main

import (
	"context"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

// compose prints a compose file in which the variables of an environment file are filled in.
func compose(ctx context.Context, env, file string) error {
	o, err := cli.NewProjectOptions([]string{file}, cli.WithEnvFiles(env), cli.WithDotEnv)
	if err != nil {
		return err
	}
	project, err := o.LoadProject(ctx)
	if err != nil {
		return err
	}
	text, err := project.MarshalYAML()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
