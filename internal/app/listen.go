package app

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listeners are what a process listens on; http is nil when its role does not.
type listeners struct {
	http, admin net.Listener
}

// listen opens the role's listeners, so that a taken port is known before
// anything else is opened.
func listen(role Role, httpAddr, adminAddr string) (l listeners, err error) {
	if role.http {
		if l.http, err = listenOn(httpAddr, "PORT or ALDS_ADDR"); err != nil {
			return listeners{}, err
		}
	}
	if adminAddr == "" {
		adminAddr = "127.0.0.1:0"
	}
	if l.admin, err = listenOn(adminAddr, "ALDS_ADMIN_ADDR"); err != nil {
		l.close()
		return listeners{}, err
	}
	return l, nil
}

func listenOn(addr, setting string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is already in use: stop what listens there, or choose another by %s", addr, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s may not be listened on by this user: choose another by %s", addr, setting)
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

// exposed returns the addresses that others than this machine can reach.
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
