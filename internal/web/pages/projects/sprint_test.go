package projects

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

func TestBurndownOfAllTime(t *testing.T) {
	all := timebox{Begin: date{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}, End: date{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}}
	_, err := drawBurndown((&ui.Visit{}), nil, all, time.Now(), "")
	if f, ok := errors.AsType[*ui.Error](err); !ok || f.Status != http.StatusBadRequest {
		t.Errorf("a sprint of ten thousand years: %v", err)
	}
}
