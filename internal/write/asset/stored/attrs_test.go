package stored

import "testing"

// Equal values have equal texts, whoever wrote them, and a change leaves the object of an earlier version
// as it is.
func TestAttrs(t *testing.T) {
	before, err := Parse(`{ "A": "x", "B": 1.50, "C": true }`)
	if err != nil {
		t.Fatal(err)
	}
	after := before
	if after.Set("A", "x") || after.Set("B", 1.5) || after.Set("C", true) || after.Set("D", nil) {
		t.Error("the same values are a change")
	}
	if !after.Set("A", nil) || !after.Set("B", 2.0) || !after.Set("D", "y") {
		t.Error("other values are no change")
	}
	if before.Text() != `{"A":"x","B":1.5,"C":true}` || after.Text() != `{"B":2,"C":true,"D":"y"}` {
		t.Errorf("before: %v, after: %v", before.Text(), after.Text())
	}
	if after.Has("A") || !after.Has("B") || after.Without("B").Has("B") || !after.Has("B") {
		t.Error("Has or Without")
	}
	if none := before.Without("A").Without("B").Without("C"); none.Text() != nil {
		t.Errorf("an object without keys: %v", none.Text())
	}
	for _, as := range []Attrs{nil, before, after} {
		if text, _ := as.Text().(string); len(text) > as.Size() {
			t.Errorf("%s is longer than %d", text, as.Size())
		}
	}
}
