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

// KeySize is the bytes of a key.
const KeySize = 32

const prefix = "v1."

var encoding = base64.RawURLEncoding

// Box seals and opens with one key. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// New returns a Box with the key. Errors: a key that is not KeySize bytes.
func New(key []byte) (*Box, error) {
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
	return &Box{aead: aead}, nil
}

// Seal encrypts plain. Sealing the same twice gives two different texts.
func (b *Box) Seal(plain []byte) string {
	return prefix + encoding.EncodeToString(b.aead.Seal(nil, nil, plain, nil))
}

// Open decrypts what Seal returned. Errors: another key, or an altered text;
// the error shows nothing of it.
func (b *Box) Open(sealed string) ([]byte, error) {
	text, ok := strings.CutPrefix(sealed, prefix)
	if !ok {
		return nil, errors.New("open secret: not a sealed text")
	}
	raw, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("open secret: not a sealed text")
	}
	plain, err := b.aead.Open(nil, nil, raw, nil)
	if err != nil {
		return nil, errors.New("open secret: sealed with another key, or altered")
	}
	return plain, nil
}

// NewKey returns a random key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails: the program ends instead
	return key
}
