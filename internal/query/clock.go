package query

// readsClock reports whether the value of an expression depends on the current time.
func readsClock(x Expr) bool {
	r := &clockReader{seen: map[*Table]bool{}}
	r.Expr(x)
	return r.found
}

// clockReader looks for the clock in an expression and in the tables that it reads.
type clockReader struct {
	found bool
	seen  map[*Table]bool
}

func (r *clockReader) Expr(x Expr) {
	if _, ok := x.(Clock); ok {
		r.found = true
	}
	if x != nil {
		Walk(x, r)
	}
}

func (r *clockReader) Table(t *Table) {
	if t == nil || r.seen[t] {
		return
	}
	r.seen[t] = true
	r.Expr(t.Key)
	each(r, t.On)
	for _, j := range t.Joins {
		r.Table(j)
	}
}

func (r *clockReader) Select(s *Select) {
	r.Table(s.From)
	each(r, s.Cells)
	each(r, s.Where)
}
