package system

import (
	"slices"
	"testing"
	"time"
)

func TestNumbersAsPeopleReadThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "less than a second", time.Second: "1 second", 119 * time.Second: "119 seconds", 2 * time.Minute: "2 minutes",
		119 * time.Minute: "119 minutes", 47 * time.Hour: "47 hours", 49 * time.Hour: "2 days",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
	for _, c := range []struct {
		total float64
		n     int
		want  string
	}{{12.34, 1, "12 ms"}, {9.96, 1, "10.0 ms"}, {1.25, 0, "1.2 ms"}, {98765, 1234, "80 ms"}, {1234567, 1, "1,234,567 ms"}} {
		if got := milliseconds(c.total, c.n); got != c.want {
			t.Errorf("%v of %d is written %s, want %s", c.total, c.n, got, c.want)
		}
	}
}

func TestVersionsThatDiffer(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	p := systemPage{systemStatus: systemStatus{Version: "v2", Process: "b", At: at, Processes: []process{
		{ID: "a", Version: "v1", Alive: true}, {ID: "b", Version: "v2", Alive: true}, {ID: "c", Version: "v1", Alive: true}, {ID: "d", Version: "v0", Seen: at.Add(-time.Hour)},
	}}}
	p.compare()
	if want := []string{"v1 (2 processes)", "v2 (1 process)"}; !slices.Equal(p.Versions, want) {
		t.Errorf("%q, want %q", p.Versions, want)
	}
	if all := p.Processes; !all[0].Other || all[1].Other || !all[1].Here || all[3].Other || all[3].Silent != time.Hour {
		t.Errorf("%+v", all)
	}
	one := systemPage{systemStatus: systemStatus{Version: "v2", Processes: p.Processes[1:2]}}
	if one.compare(); one.Versions != nil {
		t.Errorf("one version alone: %q", one.Versions)
	}
}
