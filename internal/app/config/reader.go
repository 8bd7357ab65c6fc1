package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader reads settings by name and collects the problems. A value that may contain a secret is
// never part of the text of a problem.
type reader struct {
	asSet    func(string) string // returns a value unchanged
	getenv   func(string) string // returns a value without the white space around it
	defaults map[string]string
	problems []error
	warnings []Warning
}

func newReader(getenv func(string) string) *reader {
	r := &reader{asSet: getenv, getenv: func(name string) string { return strings.TrimSpace(getenv(name)) }, defaults: map[string]string{}}
	for _, s := range Settings() {
		r.defaults[s.Name] = s.Default
	}
	return r
}

func (r *reader) problem(name, format string, args ...any) {
	r.problems = append(r.problems, errors.New(name+" "+fmt.Sprintf(format, args...)))
}

func (r *reader) err() error { return errors.Join(r.problems...) }

func (r *reader) text(name string) string {
	fallback, listed := r.defaults[name]
	if !listed {
		panic("config: " + name + " is not in Settings")
	}
	if v := r.getenv(name); v != "" {
		return v
	}
	return fallback
}

// password reads a password with its spaces. It removes only line ends at the end, because the
// value may come from a file.
func (r *reader) password(name string) string { return strings.TrimRight(r.asSet(name), "\r\n") }

func (r *reader) number(name string, low, high int) int {
	v := r.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		r.problem(name, "is %q; want a number from %d to %d", v, low, high)
	}
	return n
}

// unsetOr returns 0 for a setting that is unset, and otherwise the result of read.
func (r *reader) unsetOr(name string, read func() int) int {
	if r.text(name) == "" {
		return 0
	}
	return read()
}

// networks reads addresses and networks in CIDR form, separated by commas.
func (r *reader) networks(name string) (all []netip.Prefix) {
	v := r.text(name)
	if v == "" {
		return nil
	}
	for one := range strings.SplitSeq(v, ",") {
		one = strings.TrimSpace(one)
		network, err := netip.ParsePrefix(one)
		if err != nil {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(one); err == nil {
				network = netip.PrefixFrom(ip, ip.BitLen())
			}
		}
		if err != nil {
			r.problem(name, "is %q; want addresses and networks with commas between, such as 10.0.0.0/8,192.0.2.1", v)
			return nil
		}
		all = append(all, network.Masked())
	}
	return all
}

var units = []struct {
	suffix string
	bytes  int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}

func (r *reader) size(name string, low, high int) int {
	v := r.text(name)
	for _, u := range units {
		digits, ok := strings.CutSuffix(v, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(digits))
		if err == nil && n >= 0 && n <= high/u.bytes && n*u.bytes >= low {
			return n * u.bytes
		}
		break
	}
	r.problem(name, "is %q; want bytes from %d to %d, such as 64MiB", v, low, high)
	return 0
}

func (r *reader) duration(name string, low, high time.Duration) time.Duration {
	v := r.text(name)
	d, err := time.ParseDuration(v)
	if err != nil || d < low || d > high {
		r.problem(name, "is %q; want a duration from %v to %v, such as 10s", v, low, high)
	}
	return d
}

// maxRetries is the maximum number of pauses in ALDS_WEBHOOK_RETRY_SCHEDULE.
const maxRetries = 100

func (r *reader) durations(name string) []time.Duration {
	v := r.text(name)
	var all []time.Duration
	for part := range strings.SplitSeq(v, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d < 0 || d > 30*24*time.Hour || len(all) == maxRetries {
			r.problem(name, "is %q; want up to %d durations up to 720h with commas between, such as 5s,30s,2m", v, maxRetries)
			return nil
		}
		all = append(all, d)
	}
	return all
}

func (r *reader) flag(name string, unset bool) bool {
	switch v := strings.ToLower(r.text(name)); v {
	case "":
		return unset
	case "1", "true", "yes":
		return true
	case "0", "false", "no":
		return false
	default:
		r.problem(name, "is %q; want 1 or 0", v)
		return false
	}
}

func (r *reader) oneOf(name string, values []string) string {
	v := r.text(name)
	if !slices.Contains(values, v) {
		r.problem(name, "is %q; want one of %s", v, strings.Join(values, ", "))
	}
	return v
}

func (r *reader) address(name string) string {
	v := r.text(name)
	if v == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(v)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		r.problem(name, "is %q; want host:port", v)
	}
	return v
}

func (r *reader) segment(name string) string {
	v := r.text(name)
	if strings.ContainsFunc(v, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c)
	}) || strings.Trim(v, ".") == "" {
		r.problem(name, "is %q; want one path segment of letters, digits and - _ .", v)
	}
	return v
}

func (r *reader) publicURL(name string) string {
	v := r.text(name)
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		r.problem(name, "is not an http or https URL without user, query and fragment")
		return ""
	}
	return strings.TrimRight(v, "/")
}

// link reads the URL of a link for people.
func (r *reader) link(name string) string {
	v := r.text(name)
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		r.problem(name, "is not an http or https URL without user")
		return ""
	}
	return u.String()
}

// escapes is appended to the problem of an address that cannot be parsed.
const escapes = "; in a password / # ? @ and %% are written %%2F %%23 %%3F %%40 and %%25"

// splitPassword reports whether a password contains an unescaped character that ends a part of a
// URL. The rest of the password would then be part of the path, the query or the fragment, which
// may be printed.
func splitPassword(u *url.URL) bool {
	return strings.Contains(u.Path, "@") || strings.Contains(u.RawQuery, "@") || u.Fragment != ""
}

// blobs reads the URL of the storage of attachments: a folder or a bucket. Its query may contain
// a password, so the URL is a Secret.
func (r *reader) blobs(name string) Secret {
	v := r.text(name)
	if v == "" {
		return Secret{}
	}
	u, err := url.Parse(v)
	if err != nil || u.User != nil || u.Fragment != "" || !slices.Contains([]string{"file", "s3"}, u.Scheme) ||
		u.Scheme == "s3" && u.Host == "" || u.Scheme == "file" && (u.Host != "" || u.Path == "") {
		r.problem(name, "is not file:///folder or s3://bucket?endpoint=…")
	}
	return newSecret(v)
}

// keys reads one or more keys, separated by commas, and returns their bytes joined.
func (r *reader) keys(name string) Secret {
	v := r.text(name)
	if v == "" {
		return Secret{}
	}
	var all []byte
	for text := range strings.SplitSeq(v, ",") {
		key, ok := decodeKey(strings.TrimSpace(text))
		if !ok {
			r.problem(name, "is not base64 of %d bytes, or several such separated by commas", keySize)
			return Secret{}
		}
		all = append(all, key...)
	}
	return newSecret(string(all))
}

// minToken is the minimum length of a token, so that it cannot be guessed.
const minToken = 32

// token reads a token that a client can send unchanged in an Authorization header.
func (r *reader) token(name string) Secret {
	v := r.text(name)
	if v == "" {
		return Secret{}
	}
	if len(v) < minToken || strings.ContainsFunc(v, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._~+/=", c)
	}) {
		r.problem(name, "is not %d characters or more, letters, digits and - . _ ~ + / =, as `openssl rand -hex 32` makes them", minToken)
	}
	if strings.EqualFold(r.text("ALDS_INSTANCE"), "metrics") {
		r.problem(name, "is for the path /metrics, which ALDS_INSTANCE has taken")
	}
	return newSecret(v)
}

// redactURL returns a URL with its password and query values hidden.
func redactURL(v string) string {
	if strings.HasPrefix(v, "sqlite:") {
		return v
	}
	u, err := url.Parse(v)
	if err != nil {
		return redacted
	}
	shown := u.Scheme + "://"
	if u.User != nil {
		shown += redactUser(u) + "@"
	}
	shown += u.Host + u.Path
	if u.RawQuery != "" {
		shown += "?" + redacted
	}
	return shown
}

// redactUser returns the user of a URL, with the password hidden. For Redis the user is also
// hidden, since many people write the password in the place of the user.
func redactUser(u *url.URL) string {
	if u.Scheme != "mysql" {
		return redacted
	}
	if _, ok := u.User.Password(); ok {
		return u.User.Username() + ":" + redacted
	}
	return u.User.Username()
}
