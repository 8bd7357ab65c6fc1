package config

import "log/slog"

const redacted = "[redacted]"

// Secret is a text that is never printed in messages, logs or JSON.
type Secret struct{ text string }

// newSecret returns a Secret holding text.
func newSecret(text string) Secret { return Secret{text} }

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == "" }

// String returns [redacted].
func (s Secret) String() string { return redacted }

// GoString returns [redacted], for %#v.
func (s Secret) GoString() string { return redacted }

// MarshalText returns [redacted], for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns [redacted], for logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
