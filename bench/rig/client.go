package rig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// Conn is one keep-alive connection. It does little more than move bytes, so
// that its own cost does not blur the difference between the sides.
type Conn struct {
	net.Conn
	in   *bufio.Reader
	body []byte
}

// Dial connects to a server.
func Dial(addr string) (*Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

var errNoLength = errors.New("the answer has no Content-Length")

// Ask sends a request and returns the body of the answer, good until the next.
// An answer other than 200 is an error.
func (c *Conn) Ask(request []byte) ([]byte, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200 "))
	size := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if value, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			if size, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		}
	}
	if size < 0 {
		return nil, errNoLength
	}
	if cap(c.body) < size {
		c.body = make([]byte, size)
	}
	c.body = c.body[:size]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("answered: %.300s", c.body)
	}
	return c.body, nil
}

// Get is a GET request with a bearer token.
func Get(path, token string) []byte { return request("GET", path, token, "") }

// Post is a POST request with a bearer token and a JSON body.
func Post(path, token, body string) []byte { return request("POST", path, token, body) }

func request(method, path, token, body string) []byte {
	text := method + " " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	if body != "" {
		text += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(text + "\r\n" + body)
}
