package httpapi

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/inbound"
)

// Limits of the requests that wait for changes.
const (
	maxFollowers       = 256              // waiting requests of the process
	maxMemberFollowers = 16               // waiting requests of one member
	heartbeat          = 15 * time.Second // longest pause between two writes to a live stream
	followWrite        = 20 * time.Second // longest time of one write; if the client reads more slowly, its stream ends
)

// followBounds returns bounds without a queue: a request above the bounds is refused at once.
func followBounds() admission.Bounds {
	return admission.Bounds{Running: maxFollowers, PerKey: maxMemberFollowers}
}

// follower is a request that waits for changes. A long poll ends with the first changes. A live
// stream ends when its client disconnects. While a follower waits, it holds neither a slot of its
// member nor a connection to the database.
type follower struct {
	ask    feed.Request
	page   feed.Page     // the last page that was read
	wait   time.Duration // longest wait of a long poll
	stream bool          // true: the request asks for a live stream

	a    *API
	x    *exchange
	ctx  context.Context // has no time limit
	conn net.Conn
}

func (f *follower) isEmpty() bool { return len(f.page.Events) == 0 && !f.page.More }

// follow makes a request wait for changes. It returns the answer to a long poll. For a live
// stream it sets x.live.
func (a *API) follow(c *fiber.Ctx, x *exchange, f *follower) ([]byte, error) {
	for _, leave := range x.slots {
		leave()
	}
	leave, err := a.followers.Enter(c.UserContext(), x.who.Member)
	if err != nil {
		return nil, fault.Transientf(nil, "too many requests wait for changes")
	}
	x.onRelease(leave)
	f.a, f.x, f.conn = a, x, c.Context().Conn()
	f.begin(c)
	if f.stream {
		x.live = &liveBody{follower: f}
		return nil, nil
	}
	return f.await()
}

// begin sets the context of the follower. The context ends when the client closes the
// connection, the member loses rights, or the server stops.
func (f *follower) begin(c *fiber.Ctx) {
	x := f.x
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.UserContext()))
	x.onRelease(cancel)
	stop := context.AfterFunc(f.a.closing, cancel)
	x.onRelease(func() { stop() })
	if from, ok := c.Locals(outerKey{}).(outer); ok { // the connection is that of the outer request
		stop := context.AfterFunc(from.ctx, cancel)
		x.onRelease(func() { stop() })
	}
	if conn, ok := f.conn.(*inbound.Conn); ok {
		x.onRelease(conn.Watch(func() {
			x.clientGone.Store(true)
			cancel()
		}))
	}
	x.unwatch()
	x.watched, x.unwatch = f.a.engines().Credentials.Watch(ctx, x.login, x.who)
	x.onRelease(x.unwatch)
	f.ctx = x.watched
}

// await waits until there are changes, f.wait is over or the server stops, and returns the
// page, which may be empty.
func (f *follower) await() ([]byte, error) {
	ctx, cancel := context.WithTimeout(f.ctx, f.wait)
	defer cancel()
	for f.isEmpty() {
		if err := f.a.engines().Changes.Wait(ctx, f.page.Head); err != nil {
			if f.ctx.Err() != nil && f.a.closing.Err() == nil {
				return nil, err
			}
			break
		}
		if err := f.next(); err != nil {
			return nil, err
		}
	}
	f.a.m.events.Add(float64(len(f.page.Events)))
	return f.page.Body(), nil
}

// drop frees the events of the page. Only the position of the page is still needed.
func (f *follower) drop() {
	f.x.hold.Give(f.page.Bytes)
	f.page.Events, f.page.Bytes = nil, 0
}

// next reads the page after f.page. Before that, it waits for a slot and reads the permissions
// again, as for a new request.
func (f *follower) next() error {
	f.drop()
	f.ask.After = f.page.Next.String()
	leave, err := f.a.members.Enter(f.ctx, f.x.who.Member)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(f.ctx, f.a.timeout)
	defer cancel()
	engines := f.a.engines()
	who, err := engines.Credentials.Proven(ctx, f.x.login)
	if err != nil {
		return err
	}
	f.page, err = engines.Changes.Page(ctx, who, f.ask)
	return err
}

// liveBody is the body of a live stream. A page is read only after the client has read the
// previous page, so that a slow client needs no buffer.
type liveBody struct {
	*follower
	text   []byte // not sent yet
	begun  bool   // the first text, with the retry time, was made
	sent   int    // bytes
	err    error  // why the stream ended
	closed bool
}

// Read returns the next bytes of the stream. It waits until there are bytes to return.
func (s *liveBody) Read(b []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.text, s.err = nil, s.a.countPanic(r)
			n, err = 0, io.ErrUnexpectedEOF
		}
	}()
	for len(s.text) == 0 {
		if s.err == nil {
			s.text, s.err = s.more()
		}
		if s.err != nil && len(s.text) == 0 {
			if s.a.closing.Err() != nil {
				return 0, io.EOF
			}
			return 0, io.ErrUnexpectedEOF
		}
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.a.followWrite)); err != nil {
		return 0, err
	}
	n = copy(b, s.text)
	s.text = s.text[n:]
	s.sent += n
	return n, nil
}

// more returns the text of the next page or a heartbeat. It is called when the previous text
// has been sent.
func (s *liveBody) more() ([]byte, error) {
	if !s.begun {
		s.begun = true
		begin := append([]byte("retry: 1000\nid: "), s.page.Next.String()...)
		if len(s.page.Events) > 0 {
			begin = []byte("retry: 1000")
		}
		return s.frames(append(begin, "\n\n"...)), nil
	}
	s.text = nil
	s.drop()
	before := s.page.Next
	if !s.page.More {
		ctx, cancel := context.WithTimeout(s.ctx, s.a.heartbeat)
		err := s.a.engines().Changes.Wait(ctx, s.page.Head)
		cancel()
		switch {
		case s.ctx.Err() != nil:
			return nil, s.x.cause(s.ctx.Err())
		case err != nil:
			return []byte(":\n\n"), nil
		}
	}
	if err := s.next(); err != nil {
		return nil, s.x.cause(err)
	}
	text := s.frames(nil)
	if len(s.page.Events) == 0 && s.page.Next != before {
		text = append(append(append(text, "id: "...), s.page.Next.String()...), "\n\n"...)
	}
	return text, nil
}

// frames appends the events of the page to b. A reader that reconnects sends the id of the
// last event that it received.
func (s *liveBody) frames(b []byte) []byte {
	s.a.m.events.Add(float64(len(s.page.Events)))
	for _, e := range s.page.Events {
		b = append(append(b, "id: "...), e.Next.String()...)
		b = append(append(b, "\ndata: "...), e.Text...)
		b = append(b, "\n\n"...)
	}
	return b
}

// Close frees the resources of the exchange, and records the exchange in the log and the metrics.
// The server calls it when the stream has ended.
func (s *liveBody) Close() error { return s.a.closed(s.x, s.end) }

func (s *liveBody) end() error {
	if s.closed {
		return nil
	}
	s.closed = true
	s.x.sent, s.x.brokenBy = s.sent, s.brokenBy()
	s.x.release()
	s.a.record(s.x, s.err)
	return nil
}

// brokenBy returns the value of exchange.brokenBy. It is empty if the server stops.
func (s *liveBody) brokenBy() string {
	switch kind := fault.KindOf(s.err); {
	case s.a.closing.Err() != nil:
		return ""
	case s.x.clientGone.Load() || s.err == nil: // the client left, or was too slow
		return "client"
	case kind == fault.Unproven || kind == fault.Denied:
		return "rights"
	case kind == fault.Invalid: // the request is no longer valid, or its page needs too much memory
		return "limit"
	}
	return "server"
}
