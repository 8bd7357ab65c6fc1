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

// ending closes its channels when testall must end.
type ending struct {
	signals       chan os.Signal
	asked, forced chan struct{} // at the first signal; at the second, or endsIn later
}

// endsIn is how long tests may take to end after Ctrl-C.
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

// onCtrlC makes Ctrl-C and SIGTERM ask for the end.
func (e ending) onCtrlC() { signal.Notify(e.signals, os.Interrupt, syscall.SIGTERM) }

func (e ending) isAsked() bool {
	select {
	case <-e.asked:
		return true
	default:
		return false
	}
}

// start starts a command in a process group, which Ctrl-C does not reach. The group gets SIGINT
// when testall must end, and SIGKILL when that is forced or testall has been killed. Call release
// when the command has ended.
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
		_ = syscall.Kill(-group, syscall.SIGKILL) // also what the command has left
	}()
	return func() { close(ended); endGuard() }, nil
}

// guard starts a process that kills a group when testall has ended in any way. Test binaries do
// not end with go test.
func guard(group int) (end func()) {
	cmd := exec.Command("sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(group)) //nolint:gosec // a number
	cmd.SysProcAttr = apart(nil)
	_, err := cmd.StdinPipe() // is closed when this process ends
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // no sh: killing testall then leaves test binaries
		return func() {}
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}

// apart adds a separate process group to the attributes of a process; nil: none.
func apart(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Setpgid = true
	return attr
}
