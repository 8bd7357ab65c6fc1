package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// process is a peer that runs as a separate process.
type process struct {
	addr string

	program string
	args    []string
	dir     string
	env     []string
	ready   string // path that answers 200 when the process is ready
	running *exec.Cmd
}

// patience limits the time until a process is ready, and until it has ended.
const patience = 2 * time.Minute

// start starts the process and waits until it is ready. Its output goes to the file output.log
// in its folder.
func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(p.dir, "output.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.running = exec.Command(p.program, p.args...)
	p.running.Dir, p.running.Env = p.dir, append(os.Environ(), p.env...)
	p.running.Stdout, p.running.Stderr = log, log
	if err := p.running.Start(); err != nil {
		p.running = nil
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if res, err := client.Get("http://" + p.addr + p.ready); err == nil {
			if err := res.Body.Close(); err != nil {
				return err
			}
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.Join(fmt.Errorf("%s does not serve: %s", filepath.Base(p.program), p.printed()), p.stop())
}

// printed returns the last part of the process's output.
func (p *process) printed() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "output.log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-600):]))
}

// stop interrupts the process. After patience it kills the process.
func (p *process) stop() error {
	if p.running == nil {
		return nil
	}
	cmd := p.running
	p.running = nil
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // an interrupted process returns an error
	return nil
}

// httpRequest returns a request of any method with a bearer token.
func httpRequest(method, path, token, contentType, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, path, token, contentType, len(body), body)
}
