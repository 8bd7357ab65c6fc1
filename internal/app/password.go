package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/alds-dev/alds/internal/base/fault"
)

// maxInput bounds what is read of standard input, in bytes.
const maxInput = 64 << 10

// passwordCommand sets a password, also where nobody can log in.
type passwordCommand struct {
	Member string   `required:"" placeholder:"NAME" help:"The username of the member."`
	Rest   []string `arg:"" optional:"" hidden:""` // to be refused without being repeated
}

// Validate refuses a password among the arguments, where other users of the machine
// could read it.
func (c passwordCommand) Validate() error {
	if len(c.Rest) > 0 {
		return errors.New("the password is no argument: it is read from the terminal or from standard input")
	}
	return nil
}

// Run sets the password.
func (c passwordCommand) Run(ctx context.Context, o outside, role Role) error {
	return withDatabase(ctx, o, role, func(s *service) error {
		mayLogIn, err := s.auth.SetPassword(ctx, c.Member, func() (string, error) { return askPassword(ctx, o.stdin, o.stderr) })
		if fault.KindOf(err) == fault.Invalid {
			return errors.New("a password has 1 to 1,024 bytes")
		}
		if err != nil {
			return err
		}
		note := ""
		if !mayLogIn {
			note = ", but the member may not log in: it is closed or disabled"
		}
		_, err = fmt.Fprintf(o.stdout, "the password of %s is set%s\n", printable(c.Member), note)
		return err
	})
}

// askPassword reads a password: from a terminal twice and without echo, else the one
// line that stdin is. It ends with ctx, and leaves the terminal as it was.
func askPassword(ctx context.Context, stdin io.Reader, stderr io.Writer) (password string, err error) {
	read := func() (string, error) { return readLine(stdin) }
	if file, ok := stdin.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		before, err := term.MakeRaw(int(file.Fd())) // before the prompt: what is typed at once is not echoed either
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(file.Fd()), before) }()
		read = func() (string, error) { return readTwice(file, stderr) }
	}
	type result struct {
		password string
		err      error
	}
	ended := make(chan result, 1) // nobody waits for a read that outlasts ctx
	go func() {
		password, err := read()
		ended <- result{password, err}
	}()
	select {
	case r := <-ended:
		return r.password, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readTwice reads from a terminal that is raw, in which Ctrl-C is the end of the input.
func readTwice(stdin io.Reader, stderr io.Writer) (string, error) {
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{stdin, stderr}, "")
	first, err := terminal.ReadPassword("New password: ")
	if err != nil {
		return "", fmt.Errorf("no password was entered: %w", err)
	}
	again, err := terminal.ReadPassword("Again: ")
	if err != nil {
		return "", fmt.Errorf("no password was entered: %w", err)
	}
	if first != again {
		return "", errors.New("the two are not the same; nothing was changed")
	}
	return first, nil
}

func readLine(stdin io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxInput))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line, _ := strings.CutSuffix(string(text), "\n")
	line, _ = strings.CutSuffix(line, "\r")
	if strings.ContainsAny(line, "\r\n") {
		return "", errors.New("standard input has more than the one line of a password")
	}
	return line, nil
}
