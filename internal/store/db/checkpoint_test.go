package db_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

const mib = 1 << 20

// logScale is the divisor for the limits of the log and for the data written to it.
func logScale() int {
	if testing.Short() {
		return 8
	}
	return 1
}

// paged returns a database whose rows each fill a page. The limits of its log are divided by
// scale.
func paged(t *testing.T, path string, scale int) *db.DB {
	t.Helper()
	d := openFile(t, path)
	if scale > 1 {
		if err := d.ShortLog(4000 / scale); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, d, "CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, text BLOB NOT NULL)")
	return d
}

// fillPages writes about size MiB from four goroutines, a few pages per commit.
func fillPages(t *testing.T, d *db.DB, size int) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range size * mib / 4 / 8 / 4096 {
				err := d.Write(t.Context(), func(tx *db.Tx) error {
					_, err := tx.Exec(t.Context(), "INSERT INTO page (text) SELECT randomblob(3900) FROM json_each('[1,2,3,4,5,6,7,8]')")
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestTheLogStaysShort checks that the log of a SQLite database stays limited while several
// goroutines write and read without a pause.
func TestTheLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	d := paged(t, path, logScale())
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := d.Read(t.Context(), func(tx *db.Tx) error { return tx.QueryRow(t.Context(), "SELECT MAX(id) FROM page").Scan(new(*int)) })
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	written, bound := 110, int64(80) // MiB
	if testing.Short() {
		written, bound = 32, 24
	}
	fillPages(t, d, written)
	close(stop)
	readers.Wait()
	if got := logSize(t, path); got > bound*mib {
		t.Errorf("the log has %d MiB", got/mib)
	}
}

// TestTheLogBehindALongRead checks that the log grows during a long read, and is cut to its limit
// after the read.
func TestTheLogBehindALongRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	d, size := paged(t, path, logScale()), 80/logScale()
	err := d.ReadLong(t.Context(), func(tx *db.Tx) error {
		if err := tx.QueryRow(t.Context(), "SELECT MAX(id) FROM page").Scan(new(*int)); err != nil {
			return err
		}
		fillPages(t, d, size)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if long := logSize(t, path); long < int64(size)*mib*15/16 {
		t.Errorf("the log has %d bytes while it is read", long)
	}
	within := time.Now().Add(time.Minute)
	for logSize(t, path) > int64(size)*mib*13/16 { // a later write starts the log again from its beginning
		fillPages(t, d, 1)
		if time.Now().After(within) {
			t.Fatalf("the log has %d bytes a minute after the read", logSize(t, path))
		}
	}
}

const killedWrites = "ALDS_TEST_KILLED_WRITES"

// TestKilledWrites runs in the process that TestWhatIsAnsweredOutlivesAKill kills. It prints the
// ids of the writes that have returned without an error.
func TestKilledWrites(t *testing.T) {
	path := os.Getenv(killedWrites)
	if path == "" {
		return
	}
	d := paged(t, path, 1)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				var id int64
				err := d.Write(t.Context(), func(tx *db.Tx) error {
					r, err := tx.Exec(t.Context(), "INSERT INTO page (text) VALUES (randomblob(20000))")
					if err == nil {
						id, err = r.LastInsertId()
					}
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				fmt.Println("answered", id)
				mu.Unlock()
			}
		})
	}
	all.Wait()
}

// TestWhatIsAnsweredOutlivesAKill kills a writing process, after enough writes for several
// checkpoints. The database must then have all answered writes.
func TestWhatIsAnsweredOutlivesAKill(t *testing.T) {
	t.Parallel() // it mostly waits
	path := filepath.Join(t.TempDir(), "alds.db")
	for round := range 3 {
		answered := killWriter(t, path, 1500+700*round)
		d := paged(t, path, 1)
		got := map[int64]bool{}
		all, err := db.Column[int64](t.Context(), d, "SELECT id FROM page WHERE length(text) = 20000")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range all {
			got[id] = true
		}
		for _, id := range answered {
			if !got[id] {
				t.Errorf("round %d: the write of %d was answered, and is gone", round, id)
			}
		}
		var check string
		if err := d.QueryRow(t.Context(), "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Errorf("round %d: %s, %v", round, check, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// killWriter runs the process until this many writes are answered. It returns all writes that
// were answered before the process died.
func killWriter(t *testing.T, path string, writes int) (answered []int64) {
	t.Helper()
	cmd := osexec.Command(os.Args[0], "-test.run=^TestKilledWrites$")
	cmd.Env = append(os.Environ(), killedWrites+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "answered "); ok {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			answered = append(answered, id)
		}
		if len(answered) == writes {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if len(answered) < writes {
		t.Fatalf("%d writes were answered", len(answered))
	}
	return answered
}
