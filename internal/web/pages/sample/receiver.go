package sample

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// receiverPath is the path of the built-in receiver, followed by the id of a receiver. The id
// is a random secret.
const receiverPath = "/ui/receiver/"

// Bounds of the memory of receivers.
const (
	maxReceivers = 4
	maxReceived  = 50       // deliveries of each receiver, the newest first
	maxShown     = 16 << 10 // bytes of one delivery
)

// received is one delivery.
type received struct {
	At        time.Time
	WebhookID string // value of the header Webhook-Id
	Body      string // indented JSON, cut off if it is long
}

// receivers stores deliveries in memory, for receivers that were opened. It is safe for
// concurrent use.
type receivers struct {
	mu   sync.Mutex
	byID map[string][]received
}

// add stores a delivery if the receiver was opened.
func (k *receivers) add(id string, r received) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, known := k.byID[id]; known {
		kept := min(len(before), maxReceived-1)
		k.byID[id] = append([]received{r}, before[:kept]...)
	}
}

// knows reports whether the receiver was opened.
func (k *receivers) knows(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.byID[id]
	return known
}

// open registers a receiver, if it is new, and returns its deliveries. If there are maxReceivers
// already, it first forgets all of them.
func (k *receivers) open(id string) []received {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.byID[id]; !known {
		if len(k.byID) >= maxReceivers {
			clear(k.byID)
		}
		k.byID[id] = nil
	}
	return slices.Clone(k.byID[id])
}

// receive serves POST ui/receiver/<id>, the target of webhooks. Unknown ids get the same
// answer as known ids.
func (k *receivers) receive(v *ui.Visit) error {
	if !v.Site.Greets {
		return ui.NotFound()
	}
	if !k.knows(v.Request.PathValue("id")) {
		v.Writer.WriteHeader(http.StatusNoContent)
		return nil
	}
	b, err := io.ReadAll(v.Request.Body)
	if err != nil {
		return err
	}
	body := ui.IndentedJSON(b)
	if len(body) > maxShown {
		body = strings.ToValidUTF8(body[:maxShown], "") + "…"
	}
	k.add(v.Request.PathValue("id"), received{At: time.Now(), WebhookID: clipped(v.Request.Header.Get("Webhook-Id")), Body: body})
	v.Writer.WriteHeader(http.StatusNoContent)
	return nil
}

// clipped limits the length of a header value that is shown on a page.
func clipped(text string) string { return strings.ToValidUTF8(text[:min(len(text), 64)], "") }

// show serves GET ui/receiver/<id>, which shows new deliveries while it is open.
func (k *receivers) show(v *ui.Visit) error {
	s, err := readSample(v)
	if err != nil {
		return err
	}
	if id := v.Request.PathValue("id"); s.Receiver != v.Site.Base+receiverPath+id {
		return ui.NotFound()
	}
	page := map[string]any{"Sample": s, "Received": k.open(v.Request.PathValue("id")), "Here": s.Receiver}
	if v.IsPart() {
		return v.RenderPart("receiver", "deliveries", page)
	}
	return v.Render("receiver", "Receiver", page)
}
