package faulttest

import (
	"flag"
	"sync"
	counters "sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

var greyMost = flag.Duration("grey", 0, "the longest grey failure; 0: 2 s with -short, else 60 s")

// In these tests the processes use a clock that the test can change. Their SQL statements pass through a
// Line, which replaces clockOfServer with clockOfTest.
const (
	clockOfServer = "NOW(6)"
	clockOfTest   = "tst(6)"
)

// ownClock lets processes that start later use a clock that setClock can change.
func (s *site) ownClock() {
	s.t.Helper()
	for _, query := range []string{
		"CREATE TABLE test_clock (ahead BIGINT NOT NULL)",
		"INSERT INTO test_clock VALUES (0)",
		"CREATE FUNCTION tst(digits INT) RETURNS DATETIME(6) DETERMINISTIC READS SQL DATA RETURN (SELECT NOW(6) + INTERVAL ahead MICROSECOND FROM test_clock)",
	} {
		if _, err := s.db.Exec(s.t.Context(), query); err != nil {
			s.t.Fatal(err)
		}
	}
	address, line := s.through(s.mysql, "")
	line.Replace(clockOfServer, clockOfTest)
	s.env = append(s.env, "DATABASE_URL="+address)
	s.clock = true
}

// setClock sets how far the clock of the processes is ahead of the clock of the server.
func (s *site) setClock(ahead time.Duration) {
	s.t.Helper()
	s.patiently("set the clock", func() error {
		_, err := s.db.Exec(s.t.Context(), "UPDATE test_clock SET ahead = ?", ahead.Microseconds())
		return err
	})
}

// TestGreyFailures writes all the time while parts of the installation work badly. Processes are stopped or
// cut off for a while. The database runs only a tenth of the time, its disk is slow, and its clock is set
// forward and back. Afterwards every change that matches a subscription must have been delivered, no queue
// may have an entry left, and the command check must find no fault.
func TestGreyFailures(t *testing.T) {
	together(t)
	g, _ := chance(t)
	own, disk := testdb.OwnMySQLOnDisk(t)
	s := newSiteOn(t, own.URL, database)
	s.mariadb = own
	s.ownClock()
	s.startAPI()
	frails := []*frail{s.startFrail("worker"), s.startFrail("api"), s.startFrail("scheduler")}
	for _, role := range []string{"worker", "scheduler"} {
		s.startBeside(role)
	}
	project := s.project("grey failures")
	books := s.subscribeAll(project)
	ended := make(chan struct{})
	var writing sync.WaitGroup
	var failed counters.Int64
	writing.Go(func() { s.writeAt(ended, *stopRate, project, []string{s.base, frails[1].base}, &failed) })

	most := *greyMost
	if most == 0 {
		most = time.Duration(depth(2, 60)) * time.Second
	}
	lasting := func() time.Duration { return time.Second + time.Duration(g.Int64N(int64(most-time.Second)+1)) }
	all := []breakage{
		{"MariaDB slow", 2, func() {
			end := s.mariadb.Slow(10*time.Millisecond, 90*time.Millisecond)
			time.Sleep(min(lasting(), 5*time.Second))
			end()
		}},
		{"disk slow", 2, func() {
			disk.Delay(time.Duration(1+g.IntN(50)) * time.Millisecond)
			time.Sleep(lasting())
			disk.Delay(0)
		}},
		{"clock set", often, func() { s.setClock(time.Duration(g.Int64N(int64(most))) - most/2) }},
	}
	for _, f := range frails {
		for _, how := range freezes {
			weight := 1
			if f.role == "worker" {
				weight = often
			}
			all = append(all, breakage{f.role + " " + how.name, weight, func() {
				how.stop(f)
				time.Sleep(lasting())
				how.end(f)
			}})
		}
	}
	struck := strikeAll(g, manyFaults(), 400*time.Millisecond, all)
	s.setClock(0)
	last := time.Now()
	close(ended)
	writing.Wait()
	t.Logf("faults: %v; %d writes were not answered 200", struck, failed.Load())
	s.awaitQuiet(books)
	s.allCame(books, last)
	for _, f := range frails {
		f.MustRun()
	}
	s.sound()
}

// allCame fails the test if a subscription lacks an event or got an event that it does not match. It also
// fails the test if a change or a delivery still waits. last is the time of the last fault.
func (s *site) allCame(books []wish, last time.Time) {
	s.t.Helper()
	for _, b := range books {
		missing, surplus, again := b.compare(b.wanted())
		s.t.Logf("%s: %d events, %d of them came again, %d after a newer one; the last %s after the last fault",
			b.name, b.distinct(), again, b.late, b.lastNew().Sub(last).Round(time.Millisecond))
		if missing != 0 || surplus != 0 || b.distinct() == 0 {
			s.t.Errorf("%s: %d events are missing, %d tell of what it does not want", b.name, missing, surplus)
		}
	}
	if n := s.waiting() + s.count("SELECT COUNT(*) FROM audit WHERE fan_state <> 1") +
		s.count("SELECT COUNT(*) FROM webhook_delivery WHERE state <> 1"); n != 0 {
		s.t.Errorf("%d changes or deliveries are waiting or set aside", n)
	}
}
