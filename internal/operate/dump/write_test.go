package dump

import "testing"

func TestAppendDocument(t *testing.T) {
	for text, want := range map[string]string{
		`{"b": 1, "aa": [true, null, "x<>&\u2028é"], "a": {}}`:                 "{\"a\":{},\"aa\":[true,null,\"x<>&\u2028é\"],\"b\":1}",
		`{"n": 1e21, "m": 0.10, "i": 9007199254740993, "z": 1E2, "neg": -0.5}`: `{"i":9007199254740993,"m":0.1,"n":1e+21,"neg":-0.5,"z":100}`,
		`"A"`: `"A"`,
		`[]`:  `[]`,
	} {
		got, err := appendDocument(nil, []byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	if _, err := appendDocument(nil, []byte(`{"a":`)); err == nil {
		t.Error("a truncated document is accepted")
	}
}
