package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/alds-dev/alds/internal/base/fault"
)

// cost is the work of one argon2id hash.
type cost struct {
	memory uint32 // KiB
	time   uint32 // passes
	lanes  uint8
}

// standard is the cost of new hashes. A stored hash contains its cost.
var standard = cost{memory: 19 * 1024, time: 2, lanes: 1}

// ForTests makes the hashes of new passwords cheap in this process. A test calls it before it
// starts its first service. Otherwise a third of the processor time of the test would be used
// for the passwords of logins.
func ForTests() { standard = cost{memory: 64, time: 1, lanes: 1} }

const (
	saltBytes = 16
	hashBytes = 32

	// Limits of the cost in a stored hash. With a greater cost, a damaged row could use all
	// memory or time of the process.
	maxMemory = 1 << 20 // KiB
	maxTime   = 16

	maxUsername = 255  // characters, the width of the column
	maxPassword = 1024 // bytes
)

// hashPassword returns the PHC string of password with a new salt.
//
// Shape: $argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>, base64 without padding.
func hashPassword(password string, c cost) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails: if the system has no randomness, the process ends
	return encodePHC(c, salt, c.key(password, salt, hashBytes))
}

func (c cost) key(password string, salt []byte, n uint32) []byte {
	return argon2.IDKey([]byte(password), salt, c.time, c.memory, c.lanes, n)
}

// matches reports whether phc is a hash of password. It returns false if phc is not a PHC string.
func matches(phc, password string) bool {
	c, salt, want, err := decodePHC(phc)
	if err != nil {
		return false
	}
	got := c.key(password, salt, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func encodePHC(c cost, salt, hash []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.time, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(hash))
}

func decodePHC(phc string) (c cost, salt, hash []byte, err error) {
	malformed := fmt.Errorf("stored password is not an argon2id hash of a known form")
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost{}, nil, nil, malformed
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.lanes); err != nil {
		return cost{}, nil, nil, malformed
	}
	if c.memory == 0 || c.memory > maxMemory || c.time == 0 || c.time > maxTime || c.lanes == 0 {
		return cost{}, nil, nil, malformed
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return cost{}, nil, nil, malformed
	}
	if hash, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(hash) < 16 || len(hash) > 64 {
		return cost{}, nil, nil, malformed
	}
	return c, salt, hash, nil
}

func checkUsername(name string) error {
	if len([]rune(name)) > maxUsername || strings.ContainsAny(name, ":\x00") {
		return fault.Invalidf(fault.NoPlace, "Violation'Invalid'Member.Username")
	}
	return nil
}

func checkPassword(password string) error {
	if password == "" || len(password) > maxPassword {
		return fault.Invalidf(fault.NoPlace, "Violation'Invalid'Member.Password")
	}
	return nil
}
