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

	"github.com/alds-dev/alds/internal/db"
)

const mib = 1 << 20

// paged is a database whose rows fill a page each.
func paged(t *testing.T, path string) *db.DB {
	t.Helper()
	d := openFile(t, path)
	exec(t, d, "CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, text BLOB NOT NULL)")
	return d
}

// fillPages writes about so many MiB, a few pages to a commit, by four at once.
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

// TestTheLogStaysShort: the log of a SQLite database is bounded while several write and
// read without pause.
func TestTheLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	d := paged(t, path)
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
	fillPages(t, d, 110)
	close(stop)
	readers.Wait()
	if got := logSize(t, path); got > 80*mib {
		t.Errorf("the log has %d MiB", got/mib)
	}
}

// TestTheLogBehindALongRead: it grows while a read holds its snapshot, and is cut to
// its bound once that has ended.
func TestTheLogBehindALongRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	d := paged(t, path)
	err := d.ReadLong(t.Context(), func(tx *db.Tx) error {
		if err := tx.QueryRow(t.Context(), "SELECT MAX(id) FROM page").Scan(new(*int)); err != nil {
			return err
		}
		fillPages(t, d, 80)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	long := logSize(t, path)
	fillPages(t, d, 25)
	if got := logSize(t, path); long < 75*mib || got > 65*mib {
		t.Errorf("the log had %d MiB and has %d", long/mib, got/mib)
	}
}

const killedWrites = "ALDS_TEST_KILLED_WRITES"

// TestKilledWrites is the process that TestWhatIsAnsweredOutlivesAKill kills: it says
// which writes have been answered.
func TestKilledWrites(t *testing.T) {
	path := os.Getenv(killedWrites)
	if path == "" {
		return
	}
	d := paged(t, path)
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

// TestWhatIsAnsweredOutlivesAKill kills a process that writes, after enough writes for
// several checkpoints beside them, and reads what it has left.
func TestWhatIsAnsweredOutlivesAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alds.db")
	for round := range 3 {
		answered := killWriter(t, path, 1500+700*round)
		d := paged(t, path)
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

// killWriter runs the process until so many writes are answered, and returns all that
// were by the time it died.
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
