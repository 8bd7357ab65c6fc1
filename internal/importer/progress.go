package importer

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// progress shows how far an import is: a bar on a terminal, elsewhere a line every
// ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
	size     int64 // bytes of the file; 0: not known
	read     atomic.Int64
	start    time.Time
	shown    time.Time
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

// of counts what is read.
func (p *progress) of(r io.Reader) io.Reader { return counting{r, &p.read} }

type counting struct {
	r io.Reader
	n *atomic.Int64
}

// Read reads on.
func (c counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

const barWidth = 30

// show shows it when the time has come.
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

// say writes a line above the bar.
func (p *progress) say(format string, args ...any) {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end takes the bar away.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
