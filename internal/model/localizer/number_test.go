package localizer

import "testing"

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ accept, text, want string }{
		{"", "1,000", "1000"},
		{"", "-1,234,567.50", "-1234567.50"},
		{"", "10.5", "10.5"},
		{"", "1e3", "1e3"},
		{"", ".5", ".5"},
		{"", "10,5", "10,5"},
		{"", "1,0000", "1,0000"},
		{"", "0,125", "0,125"},
		{"", "-00,125", "-00,125"},
		{"", "01,234", "01,234"},
		{"", "0", "0"},
		{"", "007", "007"},
		{"de", "0.125", "0.125"},
		{"de", "0.125.000", "0.125.000"},
		{"", ",000", ",000"},
		{"", "1,000,", "1,000,"},
		{"", "", ""},
		{"", "x", "x"},
		{"", ",", ","},
		{"en-US,en;q=0.5", "1,000", "1000"},
		{"ru-RU", "10,5", "10.5"},
		{"ru-RU", "1 000,5", "1000.5"},
		{"ru-RU", "1\u00a0000", "1000"},
		{"ru-RU", "1\u202f000", "1000"},
		{"ru-RU", "10.5", "10.5"},
		{"de", "1.234.567,5", "1234567.5"},
		{"de", "1.000,5", "1000.5"},
		{"de", "1.5", "1.5"},
		{"de", "1.000", "1.000"},
		{"de", "1,000", "1.000"},
		{"de", "0,125", "0.125"},
		{"de", "1.000.000", "1000000"},
		{"de", "1,0,0", "1,0,0"},
		{"de", ",5", ".5"},
		{"de", ",", ","},
		{"de", "-", "-"},
		{"de-CH", "1’000.5", "1000.5"},
		{"de-CH", "1'000", "1000"},
		{"en;q=0.1, de", "10,5", "10.5"},
		{"nonsense;;", "1,000", "1000"},
		{"ar", "1,000", "1000"},
		{"hi", "1,000", "1000"},
	} {
		if got := NumbersIn(c.accept).Plain(c.text); got != c.want {
			t.Errorf("%q %q: got %q, want %q", c.accept, c.text, got, c.want)
		}
	}
	for text, want := range map[string]bool{"1.000": true, "-10.125": true, "1.5": false, "0.125": false, "1.000.000": false, "1000": false, "x.000": false, "": false} {
		if got := NumbersIn("de").IsAmbiguous(text); got != want {
			t.Errorf("%q is ambiguous in German: %v", text, got)
		}
		if NumbersIn("en").IsAmbiguous(text) {
			t.Errorf("%q is ambiguous in English", text)
		}
	}
}
