package secret

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func box(t *testing.T, key []byte) *Box {
	t.Helper()
	b, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealedTextOpensWithItsKeyOnly(t *testing.T) {
	b := box(t, newKey())
	for _, plain := range []string{"", "Bearer abc", strings.Repeat("x", 100_000)} {
		one, two := b.Seal([]byte(plain)), b.Seal([]byte(plain))
		if one == two {
			t.Error("two seals of the same text are alike")
		}
		if got, err := b.Open(one); err != nil || string(got) != plain {
			t.Errorf("Open = %.20q, %v", got, err)
		}
		if _, err := box(t, newKey()).Open(one); err == nil {
			t.Error("another key opened it")
		}
		altered := one[:len(one)-2] + "AA"
		if altered == one {
			altered = one[:len(one)-2] + "BB"
		}
		if _, err := b.Open(altered); err == nil {
			t.Error("an altered text was opened")
		}
	}
}

func TestBadTextsAndKeysAreRefused(t *testing.T) {
	b := box(t, newKey())
	for what, text := range map[string]string{
		"empty": "", "no version": "abc", "no base64": "v1.!!", "shorter than a nonce": "v1.AAAA", "a later version": "v2.AAAA",
	} {
		if _, err := b.Open(text); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := New([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
}

func TestKeyFileIsMadeOnceAndKeptPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "secret.key")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := KeyFile(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, key := range keys {
		if !bytes.Equal(key, keys[0]) || len(key) != KeySize {
			t.Fatal("callers got different keys")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBrokenKeyFileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(path, []byte("not a key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := KeyFile(path); err == nil {
		t.Error("no error")
	}
	if text, _ := os.ReadFile(path); string(text) != "not a key\n" {
		t.Errorf("the file now holds %q", text)
	}
}
