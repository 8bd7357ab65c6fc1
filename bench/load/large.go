package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// large sends a few requests with very many commands and prints the time and memory that the
// api needs for each.
type large struct {
	client   *client
	commands int
	pid      int // process id of the api on this machine; 0: do not measure memory
	out      io.Writer
}

// run creates a project, then creates all stories with two owners each in one request, and
// changes all of them in another request.
func (l large) run(ctx context.Context, parent string) error {
	project, err := l.client.bulk(ctx, []map[string]any{
		{"AssetType": "Scope", "Name": "Large requests", "Parent": parent, "BeginDate": "2026-01-01"},
		{"AssetType": "Member", "Name": "Second owner", "Nickname": "Second", "DefaultRole": "Role:4"},
	})
	if err == nil && len(project.AssetsCreated.OIDTokens) != 2 {
		err = fmt.Errorf("the project was not made: %s", project.failures())
	}
	if err != nil {
		return err
	}
	scope, member := project.AssetsCreated.OIDTokens[0], project.AssetsCreated.OIDTokens[1]
	creates := make([]map[string]any, l.commands)
	for i := range creates {
		creates[i] = map[string]any{
			"AssetType": "Story", "Scope": scope, "Name": fmt.Sprint("Story ", i), "Reference": fmt.Sprint("L-", i),
			"Description": "What is to be done, in a sentence as long as people write them.",
			"Estimate":    i % 13, "Owners": []string{"Member:20", member},
		}
	}
	made, err := l.measure(ctx, "creates with two owners each", creates)
	if err != nil {
		return err
	}
	updates := make([]map[string]any, 0, l.commands)
	for i, o := range made.AssetsCreated.OIDTokens {
		updates = append(updates, map[string]any{
			"from": o, "update": map[string]any{"Name": fmt.Sprint("Changed ", i), "Estimate": i % 7, "Owners": map[string]any{"remove": member}},
		})
	}
	_, err = l.measure(ctx, "updates", updates)
	return err
}

// measure sends one request and prints its time and the peak memory of the api during the request.
func (l large) measure(ctx context.Context, what string, commands []map[string]any) (bulkAnswer, error) {
	before, err := l.memory("VmRSS")
	if err == nil && l.pid != 0 { // writing 5 resets the peak to the current use; see proc(5)
		err = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", l.pid), []byte("5"), 0)
	}
	if err != nil {
		return bulkAnswer{}, err
	}
	began := time.Now()
	answer, err := l.client.bulk(ctx, commands)
	took := time.Since(began)
	if err == nil && answer.CommandFailures.Count > 0 {
		err = fmt.Errorf("%s", answer.failures())
	}
	if err != nil {
		return answer, err
	}
	fmt.Fprintf(l.out, "%d %s: %.2f s", len(commands), what, took.Seconds())
	if l.pid != 0 {
		peak, err := l.memory("VmHWM")
		if err != nil {
			return answer, err
		}
		fmt.Fprintf(l.out, ", peak %d MiB, before %d MiB", peak>>10, before>>10)
	}
	fmt.Fprintln(l.out)
	return answer, nil
}

// memory reads a value of the api's process status, in KiB.
func (l large) memory(line string) (int, error) {
	if l.pid == 0 {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.pid))
	if err != nil {
		return 0, fmt.Errorf("the api's memory: %w", err)
	}
	return kibibytes(string(status), line)
}

// kibibytes returns the number in a line of a process status, such as "VmHWM:   123 kB".
func kibibytes(status, line string) (int, error) {
	for l := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(l, line+":"); ok {
			return strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		}
	}
	return 0, fmt.Errorf("the status of the process has no %s", line)
}
