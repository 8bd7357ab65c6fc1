package db_test

import (
	"context"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestLowerCaseOfPlainText checks that the server's lower case of every plain character is its
// folded form, so that the folded form need not be stored.
func TestLowerCaseOfPlainText(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		var part strings.Builder
		plain := 0
		check := func() {
			var got string
			err := d.QueryRow(context.Background(), "SELECT LOWER(?"+d.Dialect.Collate+")", part.String()).Scan(&got)
			if err != nil {
				t.Fatal(err)
			}
			if want := folding.Of(part.String()); got != want {
				for i, r := range []rune(want) {
					if is := []rune(got)[i]; is != r {
						t.Errorf("the lower case of %U is %U", r, is)
					}
				}
			}
			part.Reset()
		}
		for r := rune(1); r <= unicode.MaxRune; r++ {
			if c := string(r); utf8.ValidRune(r) && folding.IsPlain(c) {
				plain++
				part.WriteString(c)
				part.WriteByte('-') // the next character must not combine with a mark before it
			}
			if part.Len() > 10_000 || r == unicode.MaxRune {
				check()
			}
		}
		if plain < 1_000_000 {
			t.Errorf("only %d characters are plain", plain)
		}
	})
}
