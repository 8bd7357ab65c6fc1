package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
)

// SaltBytes is the length of the salt at the start of a form token. It makes the token
// different in each page. Otherwise an attacker whose text is on a page could guess the token
// from the sizes of compressed pages.
const SaltBytes = 16

// FormToken returns a form token for a secret that the browser stores in a cookie, such as the
// session. A form with this token comes from a page that was made with the same secret.
//
// Shape: base64 of a salt and its HMAC with the secret as the key.
func FormToken(secret string) string {
	salt := make([]byte, SaltBytes)
	_, _ = rand.Read(salt)
	return base64.RawURLEncoding.EncodeToString(seal(secret, salt))
}

// seal returns the salt, followed by its HMAC.
func seal(secret string, salt []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("form of a page"))
	mac.Write(salt)
	return mac.Sum(slices.Clone(salt))
}

// isOwnForm reports whether the submitted form has a token of this session.
func (v *Visit) isOwnForm() bool { return IsToken(v.Session, v.Request.PostForm.Get("csrf")) }

// IsToken reports whether a form token was made with this secret.
func IsToken(secret, token string) bool {
	b, err := base64.RawURLEncoding.DecodeString(token)
	return err == nil && secret != "" && len(b) > SaltBytes && hmac.Equal(b, seal(secret, b[:SaltBytes]))
}
