package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	patience  = time.Minute     // how long to wait for the event
	tolerance = 5 * time.Minute // maximum difference between the time of a delivery and our clock
	largest   = 16 << 20        // maximum size of a delivery in bytes
)

type event struct {
	Instigator struct{ Name string }
	Snapshot   []row // the story as it was after the change
	Changes    []struct {
		Name     string
		Old, New any
	}
}

func followChange(ctx context.Context, project string) (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // 0: any free port
	if err != nil {
		return err
	}
	defer listener.Close()
	var hook struct{ ID, Secret string } // only this answer of the service shows the secret
	if _, err := post(ctx, "api/webhook", object{
		"webhookId": "example", "url": "http://" + listener.Addr().String(), "secret": "generate",
		"eventTypes": list{object{
			"type": "AssetChanged", "from": "Story", "attributes": list{"Status", "Estimate"},
			"filter": list{"Scope=$Project"}, "with": object{"$Project": project},
			"select": list{"Name", "Status.Name"},
		}},
	}, &hook); err != nil {
		return err
	}
	defer func() {
		_, refused := post(context.WithoutCancel(ctx), "api/webhook/delete/"+hook.ID, nil, &hook)
		if err = errors.Join(err, refused); refused == nil {
			fmt.Println("subscription deleted")
		}
	}()
	events := make(chan event, 100) // maximum number of events in a delivery
	server := http.Server{Handler: receiver(hook.Secret, events), ReadTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()                         // returns when the listener is closed
	defer func() { _ = server.Shutdown(context.WithoutCancel(ctx)) }() // waits until the current requests are answered
	if _, err := write(ctx, object{
		"from": "Story", "where": object{"Scope": project, "Name": "Pay by card"},
		"update": object{"Status": "In Progress", "Estimate": 5},
	}); err != nil {
		return err
	}
	select {
	case e := <-events:
		show(e)
		return nil
	case <-time.After(patience):
		return errors.New("no event came")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receiver returns a handler that sends the events of genuine deliveries to the channel events. The
// handler answers such a delivery with 204, or with 400 if its JSON is invalid, and all other requests
// with 401.
func receiver(secret string, events chan<- event) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
		var delivery struct{ Events []event }
		switch {
		case err != nil || !isGenuine(secret, r.Header, body):
			w.WriteHeader(http.StatusUnauthorized)
		case json.Unmarshal(body, &delivery) != nil:
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
			for _, e := range delivery.Events {
				events <- e
			}
		}
	}
}

// isGenuine reports whether the sender of the body knows the secret and sent the body recently.
func isGenuine(secret string, header http.Header, body []byte) bool {
	id, sent := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	digest := hmac.New(sha256.New, key)
	fmt.Fprintf(digest, "%s.%s.%s", id, sent, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(digest.Sum(nil)))
	for signature := range strings.FieldsSeq(header.Get("Webhook-Signature")) { // there are two while a secret is replaced
		if hmac.Equal([]byte(signature), expected) {
			return true
		}
	}
	return false
}

func show(e event) {
	story := e.Snapshot[0]
	fmt.Printf("%s %s is %s, by %s\n", story.OID, story.Name, story.Status, e.Instigator.Name)
	for _, c := range e.Changes {
		fmt.Printf("  %s: %v -> %v\n", c.Name, shown(c.Old), shown(c.New))
	}
}

func shown(value any) any {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return value["_oid"]
	default:
		return value
	}
}
