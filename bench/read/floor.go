package main

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/store/db"
)

// floorServer is the floor, with which the service is compared: a bare fiber handler with
// hand-written SQL. Its database connections are separate from those of the service.
type floorServer struct {
	addr string
	app  *fiber.App
}

func serveFloor(d *db.DB, rows []work) (*floorServer, error) {
	answers := map[string]answer{}
	for _, w := range rows {
		answers[w.name] = w.floor
	}
	f := &floorServer{app: fiber.New(fiber.Config{DisableStartupMessage: true})}
	f.app.Get("/:work/:n", func(c *fiber.Ctx) error {
		name, err := url.PathUnescape(c.Params("work"))
		if err != nil {
			return err
		}
		n, err := c.ParamsInt("n")
		if err != nil {
			return err
		}
		body, err := answers[name](context.Background(), d, n, nil)
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		c.Response().SetBodyRaw(body)
		return nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.addr = l.Addr().String()
	go func() { _ = f.app.Listener(l) }()
	return f, nil
}

func (f *floorServer) stop() { _ = f.app.Shutdown() }

// appendText appends a JSON string.
func appendText(w, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(string(text))
			return append(w, quoted...)
		}
	}
	w = append(w, '"')
	w = append(w, text...)
	return append(w, '"')
}

// appendNull appends a JSON string, or null for a column that is NULL.
func appendNull(w, text []byte) []byte {
	if text == nil {
		return append(w, "null"...)
	}
	return appendText(w, text)
}

func appendOID(w []byte, typ string, id int64) []byte {
	w = append(w, `{"_oid":"`...)
	w = append(w, typ...)
	w = append(w, ':')
	w = strconv.AppendInt(w, id, 10)
	return append(w, '"')
}

func appendNumber(w []byte, f float64) []byte {
	w = append(w, '"')
	w = strconv.AppendFloat(w, f, 'f', -1, 64)
	return append(w, '"')
}
