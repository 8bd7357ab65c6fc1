package rig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
)

// Conn is one keep-alive connection. It does little more than copy bytes, so that the cost of the
// client does not hide the difference between the measured sides.
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

var (
	errNoLength = errors.New("the answer has no length")
	errNoStatus = errors.New("the answer has no status line")
)

// Ask sends a request and returns the body of the answer, which is valid until the next
// request. A status other than 200 is an error.
func (c *Conn) Ask(request []byte) ([]byte, error) {
	status, body, err := c.do(request)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("answered: %.300s", body)
	}
	return body, nil
}

// do sends a request and returns the status and body of the answer. The body is valid until
// the next request.
func (c *Conn) do(request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, nil, errNoStatus
	}
	if status, err = strconv.Atoi(string(line[len("HTTP/1.1 "):len("HTTP/1.1 200")])); err != nil {
		return 0, nil, errNoStatus
	}
	size, chunked, err := c.headers()
	switch {
	case err != nil:
	case chunked:
		body, err = c.chunks()
	case size < 0:
		err = errNoLength
	default:
		if cap(c.body) < size {
			c.body = make([]byte, size)
		}
		body = c.body[:size]
		_, err = io.ReadFull(c.in, body)
	}
	return status, body, err
}

// headers reads the headers. The size is -1 without Content-Length.
func (c *Conn) headers() (size int, chunked bool, err error) {
	for size = -1; ; {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return size, chunked, nil
		}
		switch name, value, _ := bytes.Cut(line, []byte(": ")); string(name) {
		case "Content-Length":
			if size, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, err
			}
		case "Transfer-Encoding":
			chunked = true
		}
	}
}

// chunks reads a chunked body.
func (c *Conn) chunks() ([]byte, error) {
	b := bytes.NewBuffer(c.body[:0])
	_, err := b.ReadFrom(httputil.NewChunkedReader(c.in))
	if err == nil {
		_, err = c.in.Discard(len("\r\n"))
	}
	c.body = b.Bytes()
	return c.body, err
}

// Get returns a GET request with a bearer token.
func Get(path, token string) []byte { return request("GET", path, token, "") }

// GetXML returns a GET request for XML with a bearer token.
func GetXML(path, token string) []byte {
	return bytes.Replace(Get(path, token), []byte("Accept: application/json"), []byte("Accept: text/xml"), 1)
}

// Post returns a POST request with a bearer token and a JSON body.
func Post(path, token, body string) []byte { return request("POST", path, token, body) }

func request(method, path, token, body string) []byte {
	text := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	if body != "" {
		text += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(text + "\r\n" + body)
}
