package delivery

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redacted is the text that replaces a secret.
const redacted = "[redacted]"

// minSecretText is the minimum length, in bytes, of a secret that is removed from answers. A
// shorter secret could be a part of ordinary words.
const minSecretText = 6

// secretTexts are the secrets of one request, longest first. Before a receipt stores the answer,
// they are removed from the answer, because a receiver may repeat them there.
type secretTexts []string

// secretsOf collects the secrets in the URL of a receiver and in the Authorization header.
// authorization may be empty.
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

// withoutStart removes the beginning of a secret from the end of text. text was cut off, so a
// secret may be incomplete there.
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

// inName reports whether the name of a header contains a secret. It ignores upper and lower case,
// because servers and the HTTP client change the case of names.
func (all secretTexts) inName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(name, strings.ToLower(s)) })
}

// header returns the value of a header of an answer, without secrets. It replaces cookies
// completely, because they are secrets of the receiver. It shortens URLs with redactedURL.
func (all secretTexts) header(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Set-Cookie", "Set-Cookie2":
		return redacted
	case "Location", "Content-Location":
		return all.scrub(redactedURL(value))
	}
	return all.scrub(value)
}

// redactedURL returns a URL without user information, query and fragment. It returns an empty text
// if the URL cannot be parsed.
func redactedURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
