package processes

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that a test can set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestTheSlowestAreKept(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	s := NewSlowest(c.now)
	for i := range 2 * maxSlow {
		took := time.Duration(i+1) * quick
		if s.Wants(took) {
			s.Note(fmt.Sprint("q", i%(2*maxSlow)), took, i)
		}
	}
	all := s.List()
	if len(all) != maxSlow || all[0].Query != "q39" || all[0].Rows != 39 || all[maxSlow-1].Query != "q20" {
		t.Fatalf("%d kept: %+v", len(all), all)
	}
	if s.Wants(20*quick) || !s.Wants(22*quick) {
		t.Error("what is quicker than all that are kept is wanted, or what is slower is not")
	}
	c.at = c.at.Add(2 * time.Minute)
	s.Note("q39", 39*quick, 5)
	if first := s.List()[0]; first.Count != 2 || first.Total != 79*quick || first.Slowest != 40*quick || first.Rows != 39 || first.Ago != 2*time.Minute {
		t.Errorf("noted twice: %+v", first)
	}
}

func TestTheSlowestAreOfTheLastHour(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	s := NewSlowest(c.now)
	s.Note("old", time.Minute, 1)
	for range maxSlow {
		s.Note(fmt.Sprint(c.at), time.Minute, 1)
	}
	c.at = c.at.Add(30 * time.Minute)
	if !s.Wants(time.Minute) {
		t.Fatal("half an hour later nothing is wanted")
	}
	s.Note("old", time.Second, 2)
	if all := s.List(); all[0].Query != "old" && all[1].Query != "old" || len(all) != 2 {
		t.Errorf("half an hour later: %+v", all)
	}
	c.at = c.at.Add(31 * time.Minute)
	if all := s.List(); len(all) != 1 || all[0].Query != "old" || all[0].Count != 1 || all[0].Slowest != time.Second {
		t.Errorf("an hour later: %+v", all)
	}
	c.at = c.at.Add(31 * time.Minute)
	if all := s.List(); len(all) != 0 || !s.Wants(quick) || s.Wants(quick-1) {
		t.Errorf("at last: %+v", all)
	}
	var none *Slowest
	if none.Wants(time.Hour) || none.text() != "[]" {
		t.Error("nobody wants something")
	}
}

func TestARowIsBounded(t *testing.T) {
	s := NewSlowest(nil)
	for i := range maxSlow {
		s.Note(fmt.Sprint(i)+strings.Repeat(`"ü`, maxQuery), time.Duration(i+1)*time.Second, 0)
	}
	var all []SlowQuery
	text := s.text()
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(text) > maxSlowJSON || len(all) < 5 {
		t.Fatalf("%d bytes, %d queries: %v", len(text), len(all), err)
	}
	if !all[0].Cut || all[0].Slowest != maxSlow*time.Second || len(all[0].Query) > maxQuery || strings.Contains(all[0].Query, "\ufffd") {
		t.Errorf("%+v", all[0])
	}
}

func TestManyNoteAtOnce(t *testing.T) {
	s := NewSlowest(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				if took := time.Duration(j) * time.Millisecond; s.Wants(took) {
					s.Note(fmt.Sprint(i, j%50), took, j)
				}
				if j%100 == 0 {
					_ = s.text()
				}
			}
		})
	}
	all.Wait()
	if n := len(s.List()); n != maxSlow {
		t.Errorf("%d are kept", n)
	}
}

func BenchmarkWants(b *testing.B) {
	s := NewSlowest(nil)
	for b.Loop() {
		s.Wants(time.Millisecond)
	}
}
