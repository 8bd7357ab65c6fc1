package testdb

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
)

// Recorder is a proxy between clients and a server. It records each statement, no matter whether the
// driver, gorm, or a process of a test sends it.
type Recorder struct {
	Addr string // address to which clients connect

	listener net.Listener
	mu       sync.Mutex
	sent     map[string]*Sent // by Statement.Text
}

// Sent is a statement, with the number of times that it was sent or prepared.
type Sent struct {
	Statement
	Times int
}

// newRecorder starts a proxy in front of the server at an address. The proxy runs until it is closed.
func newRecorder(server string) (*Recorder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Recorder{Addr: l.Addr().String(), listener: l, sent: map[string]*Sent{}}
	go r.accept(server)
	return r, nil
}

// Close makes the recorder accept no more clients.
func (r *Recorder) Close() error { return r.listener.Close() }

func (r *Recorder) accept(server string) {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.join(client, server)
	}
}

// join forwards bytes between a client and the server until one of them ends the connection.
func (r *Recorder) join(client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() {
		_, _ = io.Copy(client, to)
		_ = client.Close()
	}()
	from := bufio.NewReaderSize(client, 64<<10)
	first, err := pass(from, to)
	if err == nil && hasTLS(first) {
		_, _ = io.Copy(to, from)
	}
	for err == nil {
		var command []byte
		if command, err = pass(from, to); err == nil {
			r.note(command)
		}
	}
}

const (
	comQuery   = 0x03
	comPrepare = 0x16
	clientTLS  = 0x800 // flag in the first four bytes of the client's first message

	// maxPacket is the length of a packet that is continued in the next packet.
	maxPacket = 1<<24 - 1
)

func hasTLS(first []byte) bool {
	return len(first) > 8 && binary.LittleEndian.Uint32(first[4:])&clientTLS != 0
}

// pass forwards the next message of a client and returns it. A message consists of packets. Each packet
// begins with three bytes for its length and one byte for its number. The first packet of a command has the
// number 0, and the code of the command follows.
func pass(from io.Reader, to io.Writer) (said []byte, err error) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return nil, err
		}
		n := int(binary.LittleEndian.Uint32(head[:]) & maxPacket)
		packet := make([]byte, 4+n)
		copy(packet, head[:])
		if _, err := io.ReadFull(from, packet[4:]); err != nil {
			return nil, err
		}
		if _, err := to.Write(packet); err != nil {
			return nil, err
		}
		if said == nil {
			said = packet
		} else {
			said = append(said, packet[4:]...)
		}
		if n < maxPacket {
			return said, nil
		}
	}
}

func (r *Recorder) note(said []byte) {
	if len(said) < 6 || said[3] != 0 || said[4] != comQuery && said[4] != comPrepare {
		return
	}
	for _, s := range statementsOf(string(said[5:])) {
		r.mu.Lock()
		if r.sent[s.Text] == nil {
			r.sent[s.Text] = &Sent{Statement: s}
		}
		r.sent[s.Text].Times++
		r.mu.Unlock()
	}
}

// Statements returns the statements recorded so far, sorted by their text.
func (r *Recorder) Statements() []Sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Sent
	for _, s := range r.sent {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Sent) int { return strings.Compare(a.Text, b.Text) })
	return all
}
