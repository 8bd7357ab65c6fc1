package httpapi

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/operate/localization"
	"github.com/alds-dev/alds/internal/query/describe"
	"github.com/alds-dev/alds/internal/query/find"
)

// Localization reads and changes the texts that people see in place of tags.
type Localization interface {
	// In returns the texts in the language that matches an Accept-Language header best.
	In(ctx context.Context, accept string) (localizer.Texts, error)
	List(ctx context.Context, who auth.Actor) (localization.List, error)
	Change(ctx context.Context, who auth.Actor, body []byte, yaml bool) (localization.List, error)
}

// setTexts serves GET api/localization with the texts that administrators have set.
func (*API) setTexts(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	return encoded(r.engines.Localization.List(ctx, who))
}

// changeTexts serves POST api/localization.
func (*API) changeTexts(ctx context.Context, who auth.Actor, r *request) ([]byte, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return encoded(r.engines.Localization.Change(ctx, who, body, r.isYAML(body)))
}

// maxTags is the maximum number of tags in one request.
const maxTags = 1000

// localize serves GET loc.v1/?<tag> with the text of the tag. Spec: interface 4.10.
func (*API) localize(ctx context.Context, _ auth.Actor, r *request) ([]byte, error) {
	tag, err := r.tags()
	if err != nil {
		return nil, err
	}
	if tag == "" {
		return nil, fault.Invalidf(fault.NoPlace, "The URL names no tag: loc.v1/?<tag>")
	}
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	texts, err := r.texts(ctx)
	if err != nil {
		return nil, err
	}
	r.contentType = fiber.MIMETextPlainCharsetUTF8
	return r.answer(describe.NewDocument([]byte(texts.Of(tag)))), nil
}

// localizeAll serves GET loc-2.v1/?[<tag>,<tag>] with a JSON object that maps each tag to its
// text.
func (*API) localizeAll(ctx context.Context, _ auth.Actor, r *request) ([]byte, error) {
	list, err := r.tags()
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(list)
	if err != nil {
		return nil, err
	}
	texts, err := r.texts(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := textsOf(texts, tags, r.hold)
	if err != nil {
		return nil, err
	}
	return r.answer(describe.NewDocument(answer)), nil
}

// tags returns the tags in the URL: the decoded query string up to the first "&".
// Errors: fault.Invalid.
func (r *request) tags() (string, error) {
	first, _, _ := strings.Cut(r.query, "&")
	text, err := url.QueryUnescape(first)
	if err != nil || !utf8.ValidString(text) {
		return "", fault.Invalidf(fault.NoPlace, "The tags are not properly encoded")
	}
	return strings.TrimSpace(text), nil
}

// texts returns the texts in the client's language, and sets the headers of an answer in this
// language.
func (r *request) texts(ctx context.Context) (localizer.Texts, error) {
	texts, err := r.engines.Localization.In(ctx, r.languages)
	if err == nil {
		r.varies = ", Accept-Language"
		r.set(fiber.HeaderContentLanguage, texts.Language())
	}
	return texts, err
}

// words returns a function that changes a context. In the new context, answers have texts in
// the client's language for names that are tags. Without the parameter localized, the function
// returns its argument. The header Accept-Language alone is not enough: existing clients send
// it and expect tags. Errors: fault.Invalid.
// Spec: interface 4.10.2.
func (r *request) words(ctx context.Context) (in func(context.Context) context.Context, err error) {
	in = func(ctx context.Context) context.Context { return ctx }
	wanted, err := r.params.flag("localized")
	if err != nil || !wanted {
		return in, err
	}
	texts, err := r.texts(ctx)
	if err != nil {
		return in, err
	}
	r.set(fiber.HeaderVary, fiber.HeaderAcceptLanguage)
	return func(ctx context.Context) context.Context { return find.WithWords(ctx, texts.Of) }, nil
}

// localized returns a stream whose answer has texts in place of tags, if the request asks for
// them.
func (r *request) localized(ctx context.Context, s Stream) (Stream, error) {
	words, err := r.words(ctx)
	return s.in(words), err
}

// in returns a stream that runs s in a changed context. The function other changes the context.
func (s Stream) in(other func(context.Context) context.Context) Stream {
	return func(ctx context.Context, flush find.Flush) ([]byte, error) { return s(other(ctx), flush) }
}

func checkTag(tag string) error {
	if utf8.RuneCountInString(tag) > localizer.MaxTag {
		return fault.Invalidf(fault.NoPlace, "A tag has more than %d characters", localizer.MaxTag)
	}
	return nil
}

// tagsOf reads a list of tags, [a,b] or a,b, and removes duplicates.
func tagsOf(list string) ([]string, error) {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	seen := map[string]bool{}
	var tags []string
	for tag := range strings.SplitSeq(list, ",") {
		if tag = strings.TrimSpace(tag); tag == "" || seen[tag] {
			continue
		}
		if err := checkTag(tag); err != nil {
			return nil, err
		}
		if len(tags) == maxTags {
			return nil, fault.Invalidf(fault.NoPlace, "More than %d tags in one request", maxTags)
		}
		seen[tag] = true
		tags = append(tags, tag)
	}
	return tags, nil
}

// textsOf returns a JSON object that maps tags to texts, in the order of tags. It reserves the
// memory in the hold. Errors: errors of the hold.
func textsOf(texts localizer.Texts, tags []string, hold *memory.Hold) ([]byte, error) {
	w := []byte{'{'}
	taken := 0
	for i, tag := range tags {
		if i > 0 {
			w = append(w, ',')
		}
		w = append(value.AppendString(w, tag), ':')
		w = value.AppendString(w, texts.Of(tag))
		if err := hold.Take(int64(cap(w) - taken)); err != nil {
			return nil, err
		}
		taken = cap(w)
	}
	return append(w, '}'), nil
}
