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

// receiverPath is where the built-in receiver stands; the id of a receiver follows,
// which nobody can guess.
const receiverPath = "/ui/receiver/"

// Bounds of what receivers keep.
const (
	maxReceivers = 4
	maxReceived  = 50       // deliveries of each, the newest first
	maxShown     = 16 << 10 // bytes of one
)

// received is one delivery that came.
type received struct {
	At        time.Time
	WebhookID string // the header
	Body      string // indented JSON, cut short where it is long
}

// receivers keep what comes for the receivers whose pages have been looked at, in
// memory: a sample needs no more. It is safe for concurrent use.
type receivers struct {
	mu   sync.Mutex
	byID map[string][]received
}

// add keeps a delivery, if the receiver is known.
func (k *receivers) add(id string, r received) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, known := k.byID[id]; known {
		kept := min(len(before), maxReceived-1)
		k.byID[id] = append([]received{r}, before[:kept]...)
	}
}

// knows reports whether the page of a receiver has been opened.
func (k *receivers) knows(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.byID[id]
	return known
}

// open makes a receiver known and returns what it has received.
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

// receive serves POST ui/receiver/<id>, as a receiver of webhooks does. It answers
// unknown ids in the same way.
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

// clipped bounds what a header may put on a page.
func clipped(text string) string { return strings.ToValidUTF8(text[:min(len(text), 64)], "") }

// show serves GET ui/receiver/<id>, where deliveries appear while it is open.
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
