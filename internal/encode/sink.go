package encode

// Sink takes an answer off who appends it, so that neither all of it nor one
// long row of it needs to lie in memory. A nil Sink takes nothing.
type Sink struct {
	// Full is called when the buffer has Next bytes or more. It returns the
	// buffer to go on with and the Next of it. After an error the rest of the
	// row is left out.
	Full func(w []byte) (rest []byte, next int, err error)
	Next int

	err   error
	taken int // how often Full was called
	texts int // bytes kept by groups
}

// Err returns the error of Full, if there was one.
func (s *Sink) Err() error {
	if s == nil {
		return nil
	}
	return s.err
}

// Take hands w to Full when it is long enough. Errors: that of Full, now and
// ever after.
func (s *Sink) Take(w []byte) ([]byte, error) {
	if s == nil || s.err == nil && len(w) < s.Next {
		return w, nil
	}
	if s.err == nil {
		w, s.Next, s.err = s.Full(w)
		s.taken++
	}
	return w, s.err
}

// What is kept of rows that stand in several places: so many bytes of one list,
// and of all lists of an answer.
const (
	keptText  = 64 << 10
	keptTexts = 8 << 20
)

// keep keeps the text of a list that is appended a second time, since w had
// start bytes and Full had been called taken times.
func (s *Sink) keep(g *Group, w []byte, start, taken int) {
	if s == nil {
		return
	}
	n := len(w) - start
	if g.used && s.err == nil && s.taken == taken && n > 0 && n <= keptText && s.texts+n <= keptTexts {
		g.text = append([]byte(nil), w[start:]...)
		s.texts += n
	}
	g.used = true
}

// calls returns how often Full was called.
func (s *Sink) calls() int {
	if s == nil {
		return 0
	}
	return s.taken
}
