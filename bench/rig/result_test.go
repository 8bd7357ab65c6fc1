package rig

import (
	"testing"
	"time"
)

func TestResult(t *testing.T) {
	r := Result{Rates: []float64{9, 7, 8}, Times: []time.Duration{4, 2, 3, 1}}
	r.Sort()
	if r.At(50) != 2 || r.At(99) != 4 || r.Rate() != 8 {
		t.Errorf("median %v, p99 %v, rate %v", r.At(50), r.At(99), r.Rate())
	}
}
