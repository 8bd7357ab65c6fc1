package delivery

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecretText is the shortest text that is looked for in what a receiver
// answers. A shorter one would be found in words that have nothing to do with
// it.
const minSecretText = 6

// secretTexts are the secrets of one request, the longest first. A receiver may
// send them back in its answer, which is kept for people to read.
type secretTexts []string

// secretsOf collects what the address of a receiver and the authorization
// header that it is sent, empty for none, hold of secrets.
func secretsOf(u *url.URL, authorization string) secretTexts {
	all := secretTexts{authorization}
	if _, token, ok := strings.Cut(authorization, " "); ok {
		all = append(all, strings.TrimSpace(token))
	}
	if password, ok := u.User.Password(); ok {
		_, escaped, _ := strings.Cut(u.User.String(), ":")
		login := u.User.Username() + ":" + password
		all = append(all, password, escaped, base64.StdEncoding.EncodeToString([]byte(login))) // as net/http sends it
	}
	all = append(all, u.RawQuery)
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		_, raw, _ := strings.Cut(part, "=")
		all = append(all, raw)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecretText })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// scrub returns text without the secrets.
func (all secretTexts) scrub(text string) string {
	for _, s := range all {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return text
}

// header returns a header of an answer as it may be kept: cookies are a secret
// of the receiver, and addresses are cut like that of the receiver itself.
func (all secretTexts) header(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Set-Cookie", "Set-Cookie2":
		return redacted
	case "Location", "Content-Location":
		return all.scrub(shownURL(value))
	}
	return all.scrub(value)
}

// shownURL is an address without what must not be logged or kept: user
// information, query and fragment. One that cannot be read is not shown at all.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
