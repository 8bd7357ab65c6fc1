package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// SecretPrefix marks a signing secret, as the Standard Webhooks specification
// asks. The rest is base64 of 24 to 64 bytes.
const SecretPrefix = "whsec_"

const (
	minSecret = 24
	maxSecret = 64
)

// SecretKey returns the key that a signing secret stands for; false when it is
// none.
func SecretKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, SecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret
}

// sign returns the value of the webhook-signature header.
// Units: at is in seconds since 1970.
func sign(key []byte, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
