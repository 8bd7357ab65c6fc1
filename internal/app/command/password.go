package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/base/fault"
)

// maxInput is the maximum number of bytes that are read from standard input.
const maxInput = 64 << 10

// passwordCommand sets the password of a member, even if nobody can log in.
type passwordCommand struct {
	Member string   `required:"" placeholder:"NAME" help:"The username of the member."`
	Rest   []string `arg:"" optional:"" hidden:""` // arguments that Validate refuses; its error does not repeat them
}

// Validate refuses a password in the arguments, because other users of the machine could read
// it there.
func (c passwordCommand) Validate() error {
	if len(c.Rest) > 0 {
		return errors.New("the password cannot be an argument: it is read from the terminal or from standard input")
	}
	return nil
}

// Run sets the password.
func (c passwordCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		mayLogIn, err := i.Auth.SetPassword(ctx, c.Member, func() (string, error) { return askPassword(ctx, o.stdin, o.Stderr) })
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

// askPassword reads a password. From a terminal it reads the password twice, without echo.
// Otherwise the password is the only line of stdin. askPassword returns when ctx ends, and always
// restores the terminal.
func askPassword(ctx context.Context, stdin io.Reader, stderr io.Writer) (password string, err error) {
	read := func() (string, error) { return readLine(stdin) }
	if file, ok := stdin.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		before, err := term.MakeRaw(int(file.Fd())) // before the prompt, so that early input is not echoed either
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
	ended := make(chan result, 1) // buffered, since the result is not received after ctx has ended
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

// readTwice reads a password twice from a terminal in raw mode, where Ctrl-C ends the input.
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
		return "", errors.New("the two passwords differ; nothing was changed")
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
		return "", errors.New("standard input has more than one line")
	}
	return line, nil
}
