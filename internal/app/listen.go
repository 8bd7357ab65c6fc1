package app

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listeners has the listeners of a process. http is nil if the role does not serve the
// interface.
type listeners struct {
	http, admin net.Listener
}

// listenAdmin opens the admin listener, before all other parts of the service. It also fails if
// the port of the interface is in use.
func listenAdmin(role Role, httpAddr, adminAddr string) (net.Listener, error) {
	var probe listeners
	if err := probe.listen(role, httpAddr); err != nil {
		return nil, err
	}
	probe.close()
	if adminAddr == "" {
		adminAddr = "127.0.0.1:0"
	}
	return listenOn(adminAddr, "ALDS_ADMIN_ADDR")
}

// listen opens the listener of the interface if the role serves it. It is called when the
// process can answer; before that, connections are refused.
func (l *listeners) listen(role Role, addr string) (err error) {
	if role.HTTP {
		l.http, err = listenOn(addr, "PORT or ALDS_ADDR")
	}
	return err
}

func listenOn(addr, setting string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use: stop the process that listens there, or set another address in %s",
			addr, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s: set another address in %s", addr, setting)
	case err != nil:
		return nil, fmt.Errorf("listen on %s (%s): %w", addr, setting, err)
	}
	return l, nil
}

func (l listeners) close() {
	if l.http != nil {
		_ = l.http.Close()
	}
	if l.admin != nil {
		_ = l.admin.Close()
	}
}

// exposed returns the addresses that other machines can reach.
func (l listeners) exposed() []string {
	var all []string
	for _, one := range []net.Listener{l.http, l.admin} {
		if one == nil {
			continue
		}
		if a, ok := one.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
			all = append(all, one.Addr().String())
		}
	}
	return all
}
