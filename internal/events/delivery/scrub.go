package delivery

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redacted replaces a secret.
const redacted = "[redacted]"

// minSecretText is the length of the shortest secret that is removed from answers. A shorter
// secret could be a part of ordinary words. Units: bytes.
const minSecretText = 6

// secretTexts are the secrets of one request, the longest first. They are removed from the
// answer before a receipt stores it, since a receiver may repeat them in its answer.
type secretTexts []string

// secretsOf collects the secrets in the URL of a receiver and in the authorization header,
// which may be empty.
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

// scrub replaces the secrets in a text with redacted.
func (all secretTexts) scrub(text string) string {
	for _, s := range all {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return text
}

// withoutStart removes the beginning of a secret from the end of a text that was cut off.
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

// inName reports whether the name of a header contains a secret. It ignores case, since
// servers and the HTTP client change the case of names.
func (all secretTexts) inName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(name, strings.ToLower(s)) })
}

// header returns the value of a header of an answer without secrets. Cookies are secrets of
// the receiver. URLs lose the parts that redactedURL removes.
func (all secretTexts) header(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Set-Cookie", "Set-Cookie2":
		return redacted
	case "Location", "Content-Location":
		return all.scrub(redactedURL(value))
	}
	return all.scrub(value)
}

// redactedURL returns a URL without user information, query and fragment, or an empty text if
// the URL cannot be parsed.
func redactedURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
