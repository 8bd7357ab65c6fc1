package httpapi

import (
	"log/slog"
	"net"
	"testing"

	"github.com/valyala/fasthttp"
)

// BenchmarkRequest measures the time that a quick request takes in this package, without the time
// of the engine.
func BenchmarkRequest(b *testing.B) {
	e := engines{}
	a := New(fixed(Engines{Credentials: e, Bulk: e, Queries: e, Writes: e, Roles: e, Tags: e, Webhooks: e}), Options{
		Instance: "alds", Log: slog.New(slog.DiscardHandler),
	})
	h := a.app.Handler()
	b.ReportAllocs()
	for b.Loop() {
		var r fasthttp.Request
		r.Header.SetHost("x")
		r.Header.Set("Authorization", "Bearer 1.good")
		r.SetRequestURI("/alds/api/asset/r1")
		var c fasthttp.RequestCtx
		c.Init(&r, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
		h(&c)
		if c.Response.StatusCode() != 200 {
			b.Fatal(c.Response.StatusCode(), string(c.Response.Body()))
		}
	}
}
