package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// openTerminal opens a pseudoterminal. A write to user is typed input; a read from user returns the
// text on the screen. Without /dev/ptmx the test is skipped. It fails instead if REQUIRE_SERVICES
// is 1.
func openTerminal(t *testing.T) (user, terminal *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil && os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatalf("a pseudoterminal is required: %v", err)
	}
	if err != nil {
		t.Skipf("no pseudoterminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return user, terminal
}

// prompts is the output of a terminal. It types the next answer after each prompt.
type prompts struct {
	user    *os.File
	answers []string
	ask     func() // called at a prompt without an answer

	mu  sync.Mutex // a canceled prompt may still write
	all bytes.Buffer
}

// shown returns the text that was written to the terminal.
func (p *prompts) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

// Write stores a text, and types an answer if the text is a prompt.
func (p *prompts) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.Write(text)
	if !strings.HasSuffix(string(text), ": ") {
		return len(text), nil
	}
	if len(p.answers) == 0 {
		p.ask()
		return len(text), nil
	}
	_, err := p.user.WriteString(p.answers[0] + "\r")
	p.answers = p.answers[1:]
	return len(text), err
}

func TestAPasswordIsTypedWithoutEcho(t *testing.T) {
	for _, c := range []struct {
		answers     []string
		want, fails string
	}{
		{[]string{"correct horse", "correct horse"}, "correct horse", ""},
		{[]string{"correct horse", "correct house"}, "", "the two passwords differ"},
		{[]string{"correct horse", "corr\x03"}, "", "no password"}, // Ctrl-C
		{[]string{"correct horse"}, "", "canceled"},                // SIGTERM at the second prompt
	} {
		user, terminal := openTerminal(t)
		before, err := term.GetState(int(terminal.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := &prompts{user: user, answers: c.answers, ask: cancel}
		got, err := askPassword(ctx, terminal, p)
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %q, %v", c.answers, got, err)
		}
		after, err := term.GetState(int(terminal.Fd()))
		if err != nil || *after != *before {
			t.Errorf("%q: the terminal was %v and is %v, %v", c.answers, before, after, err)
		}
		cancel()
		if _, err := terminal.WriteString("end"); err != nil {
			t.Fatal(err)
		}
		shown := make([]byte, 1000) // by default, the driver echoes typed input
		n, err := user.Read(shown)
		if err != nil || string(shown[:n]) != "end" || strings.Contains(p.shown(), "corr") {
			t.Errorf("%q: on the screen is %q, %v", c.answers, shown[:n], err)
		}
	}
}
