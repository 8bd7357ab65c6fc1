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

// minSecretText is the shortest secret that is removed from answers. A shorter
// one occurs in other words.
const minSecretText = 6

// secretTexts are the secrets of one request, the longest first. A receiver may
// repeat them in its answer, which receipts show.
type secretTexts []string

// secretsOf collects the secrets of the address of a receiver and of the
// authorization header, which may be empty.
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

// withoutStart returns text that was cut off without the start of a secret at its end.
func (all secretTexts) withoutStart(text string) string {
	end := len(text)
	for _, s := range all {
		for n := min(len(s)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, s[:n]) {
				end = min(end, len(text)-n)
				break
			}
		}
	}
	return text[:end]
}

// inName reports whether the name of a header has a secret, in whatever case: servers and
// this client change that.
func (all secretTexts) inName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(name, strings.ToLower(s)) })
}

// header returns a header of an answer without secrets: cookies are secrets of
// the receiver, and addresses lose what redactedURL removes.
func (all secretTexts) header(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Set-Cookie", "Set-Cookie2":
		return redacted
	case "Location", "Content-Location":
		return all.scrub(redactedURL(value))
	}
	return all.scrub(value)
}

// redactedURL is an address without user information, query and fragment; empty
// when it cannot be parsed.
func redactedURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
