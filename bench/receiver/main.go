// Command receiver prints the events that webhooks deliver to it.
//
//	go run ./bench/receiver            listens on 127.0.0.1:9000
//	go run ./bench/receiver -json      prints whole bodies instead of lines
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// maxBody limits the bytes of one delivery.
const maxBody = 16 << 20

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "address to listen on")
	whole := flag.Bool("json", false, "print whole bodies")
	status := flag.Int("status", http.StatusOK, "status to answer with")
	flag.Parse()
	fmt.Fprintf(os.Stderr, "receiver: listening on http://%s\n", *addr)
	server := &http.Server{
		Addr:              *addr,
		Handler:           handler(os.Stdout, *whole, *status),
		ReadHeaderTimeout: 5 * time.Second,
	}
	fmt.Fprintln(os.Stderr, "receiver:", server.ListenAndServe())
	os.Exit(1)
}

// delivery has the members of a delivered body that are printed.
type delivery struct {
	Events []struct {
		WebhookID  string `json:"webhookId"`
		SequenceID int64  `json:"sequenceId"`
		EventType  string `json:"eventType"`
		Instigator struct {
			Name string `json:"name"`
		} `json:"instigator"`
		TargetAsset struct {
			OID string `json:"_oid"`
		} `json:"targetAsset"`
		Changes  json.RawMessage `json:"changes"`
		Snapshot json.RawMessage `json:"snapshot"`
	} `json:"events"`
}

func handler(out io.Writer, whole bool, status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var d delivery
		if err == nil && !whole {
			err = json.Unmarshal(body, &d)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if whole {
			fmt.Fprintf(out, "%s\n", body)
		}
		for _, e := range d.Events {
			fmt.Fprintf(out, "%s %s by %s (webhook %s, sequence %d)\n  changes  %s\n  snapshot %s\n",
				e.EventType, e.TargetAsset.OID, e.Instigator.Name, e.WebhookID, e.SequenceID, e.Changes, e.Snapshot)
		}
		w.WriteHeader(status)
	})
}
