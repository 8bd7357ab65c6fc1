package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

type (
	object map[string]any
	list   []any
)

// post sends body as JSON, decodes the body of the response into answer, and returns the headers of
// the response. It returns an error if the status is not 200.
func post(ctx context.Context, path string, body, answer any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	base := cmp.Or(os.Getenv("ALDS_URL"), "http://127.0.0.1:8080/alds")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if token := os.Getenv("ALDS_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	} else {
		request.SetBasicAuth(cmp.Or(os.Getenv("ALDS_USER"), "admin"), cmp.Or(os.Getenv("ALDS_PASSWORD"), "admin"))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s %s", path, response.Status, text)
	}
	return response.Header, json.Unmarshal(text, answer)
}

// write sends one command. It returns the Oids of the created assets, in the order of the request. If
// a part of the command fails, the service changes nothing and answers with status 200, and write
// returns an error.
func write(ctx context.Context, command object) ([]string, error) {
	var answer struct {
		AssetsCreated   struct{ OIDTokens []string }
		CommandFailures struct {
			Commands []struct {
				Error struct{ Message string }
			}
		}
	}
	if _, err := post(ctx, "api/asset?atomic=true", command, &answer); err != nil {
		return nil, err
	}
	for _, failed := range answer.CommandFailures.Commands {
		return nil, errors.New(failed.Error.Message)
	}
	return answer.AssetsCreated.OIDTokens, nil
}
