package delivery

import (
	"testing"
	"time"
)

func TestInstant(t *testing.T) {
	at := time.Date(2017, 9, 6, 15, 6, 26, 753000000, time.UTC).UnixMicro()
	if got := Instant(at); got != "2017-09-06T15:06:26.7530000Z" {
		t.Error(got)
	}
	if got := Instant(0); got != "0001-01-01T00:00:00Z" {
		t.Error(got)
	}
}
