//go:build unix

package inbound

import (
	"net"
	"syscall"
)

// ended reports whether the other side has closed or reset a connection. It does not read from
// the connection.
func ended(c net.Conn) bool {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = control.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		over = n == 0 && err == nil || err == syscall.ECONNRESET || err == syscall.EPIPE || err == syscall.ETIMEDOUT
	})
	return over || err != nil
}
