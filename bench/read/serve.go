package main

import (
	"context"

	"github.com/alds-dev/alds/bench/rig"
)

// readerName is the username of the member who sees only some of the scopes.
const readerName = "reader"

// sides has the two servers that do the same work.
type sides struct {
	service, floor string // addresses
	token, reader  string // access tokens of the administrator and the reader
	stop           func()
}

// serve starts the service and the floor.
func serve(ctx context.Context, d *store, rows []work) (*sides, error) {
	token, err := rig.Token(ctx, d.DB, "admin")
	if err != nil {
		return nil, err
	}
	reader, err := rig.Token(ctx, d.DB, readerName)
	if err != nil {
		return nil, err
	}
	service, err := rig.Serve(ctx, d.Database)
	if err != nil {
		return nil, err
	}
	floor, err := serveFloor(d.DB, rows)
	if err != nil {
		service.Stop()
		return nil, err
	}
	return &sides{service: service.Addr, floor: floor.addr, token: token, reader: reader, stop: func() {
		floor.stop()
		service.Stop()
	}}, nil
}
