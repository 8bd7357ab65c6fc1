package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// ending says when testall must end. It closes two channels for that.
type ending struct {
	signals       chan os.Signal
	asked, forced chan struct{} // closed at the first signal; closed at the second signal, or endsIn later
}

// endsIn is how long tests may take to end after the first Ctrl-C.
const endsIn = 5 * time.Second

func newEnding() ending {
	e := ending{make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})}
	go func() {
		<-e.signals
		close(e.asked)
		select {
		case <-e.signals:
		case <-time.After(endsIn):
		}
		close(e.forced)
	}()
	return e
}

// onCtrlC makes Ctrl-C and SIGTERM count as signals to end.
func (e ending) onCtrlC() { signal.Notify(e.signals, os.Interrupt, syscall.SIGTERM) }

func (e ending) isAsked() bool {
	select {
	case <-e.asked:
		return true
	default:
		return false
	}
}

// start starts a command in its own process group, so that Ctrl-C does not reach the command directly. The
// group gets SIGINT when asked is closed. It gets SIGKILL when forced is closed, or if testall is killed.
// Call release when the command has ended.
func (e ending) start(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = apart(testdb.WithParent())
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	group := cmd.Process.Pid
	endGuard := guard(group)
	ended := make(chan struct{})
	go func() {
		select {
		case <-e.asked:
			_ = syscall.Kill(-group, syscall.SIGINT)
		case <-ended:
			return
		}
		select {
		case <-e.forced:
		case <-ended:
		}
		_ = syscall.Kill(-group, syscall.SIGKILL) // also kills processes that the command has left behind
	}()
	return func() { close(ended); endGuard() }, nil
}

// guard starts a process that kills a group of processes when testall has ended for any reason. It is
// needed because test binaries keep running when go test ends.
func guard(group int) (end func()) {
	cmd := exec.Command("sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(group)) //nolint:gosec // a number
	cmd.SysProcAttr = apart(nil)
	_, err := cmd.StdinPipe() // the pipe is closed when this process ends
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // there is no sh: if testall is killed, test binaries keep running
		return func() {}
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // returns an error, because the guard was killed
	}
}

// apart adds to the attributes of a process that it gets its own process group. attr may be nil.
func apart(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid = true
	return attr
}
