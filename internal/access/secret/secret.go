package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

const prefix = "v1."

var encoding = base64.RawURLEncoding

// Box seals with its first key, and opens with any of its keys. It is safe for concurrent
// use.
type Box struct{ keys []cipher.AEAD }

// New returns a Box with one or more keys.
// It returns an error if a key does not have KeySize bytes.
func New(keys ...[]byte) (*Box, error) {
	b := &Box{}
	for _, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("the secret key has %d bytes, want %d", len(key), KeySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, aead)
	}
	return b, nil
}

// Seal encrypts plain. Two calls with the same bytes return different texts.
func (b *Box) Seal(plain []byte) string {
	return prefix + encoding.EncodeToString(b.keys[0].Seal(nil, nil, plain, nil))
}

// Open decrypts a text that was sealed with one of the keys. It returns an error if the text was
// sealed with another key or has been altered. The error contains nothing of the text.
func (b *Box) Open(sealed string) ([]byte, error) {
	plain, _, err := b.open(sealed)
	return plain, err
}

// Renew returns the text sealed with the first key. changed reports whether the text was sealed
// with another key before. Errors: as Open.
func (b *Box) Renew(sealed string) (renewed string, changed bool, err error) {
	plain, by, err := b.open(sealed)
	if err != nil || by == 0 {
		return sealed, false, err
	}
	return b.Seal(plain), true, nil
}

// open is Open, but also returns the index of the key in b.keys.
func (b *Box) open(sealed string) (plain []byte, by int, err error) {
	text, ok := strings.CutPrefix(sealed, prefix)
	if !ok {
		return nil, 0, errors.New("open secret: not a sealed text")
	}
	raw, err := encoding.DecodeString(text)
	if err != nil {
		return nil, 0, errors.New("open secret: not a sealed text")
	}
	for i, key := range b.keys {
		if plain, err := key.Open(nil, nil, raw, nil); err == nil {
			return plain, i, nil
		}
	}
	return nil, 0, errors.New("open secret: sealed with another key, or altered")
}

// newKey returns a random key.
func newKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails: the program ends instead
	return key
}
