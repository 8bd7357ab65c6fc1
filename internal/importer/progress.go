package importer

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// progress shows the progress of an import: as a bar on a terminal, otherwise as a line every
// ten seconds.
type progress struct {
	out      io.Writer
	terminal bool         // out is a terminal
	size     int64        // size of the file in bytes; 0: unknown
	read     atomic.Int64 // bytes that were read
	start    time.Time
	shown    time.Time // when the progress was last shown
}

func newProgress(out io.Writer, size int64) *progress {
	p := &progress{out: out, size: size, start: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.shown = p.start
	return p
}

// of returns a reader that counts the bytes that are read.
func (p *progress) of(r io.Reader) io.Reader { return counting{r, &p.read} }

// counting counts the bytes that are read.
type counting struct {
	r io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// barWidth is the number of characters of the bar.
const barWidth = 30

// show shows the progress, unless it was shown a short time ago.
func (p *progress) show(records int) {
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	if time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	line := fmt.Sprintf("%d records, %.0f a second", records, float64(records)/time.Since(p.start).Seconds())
	if p.size > 0 {
		done := min(float64(p.read.Load())/float64(p.size), 1)
		if p.terminal {
			line = "[" + fmt.Sprintf("%-*s", barWidth, strings.Repeat("=", int(done*barWidth))) + "] " + line
		}
		line = fmt.Sprintf("%3.0f %% %s", 100*done, line)
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// say writes a line. On a terminal, the line replaces the bar.
func (p *progress) say(format string, args ...any) {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end removes the bar.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
