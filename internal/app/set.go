package app

import (
	"cmp"
	"strings"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/localization"
	"github.com/alds-dev/alds/internal/query/describe"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/attachment"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/plan"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/roles"
	"github.com/alds-dev/alds/internal/write/tags"
	"github.com/alds-dev/alds/internal/write/undo"
)

// engines is a set of all parts that depend on the model. A set has one version of the model
// and never changes. All sets of a process share the parts that do not depend on the model,
// such as connections, metrics and logins.
type engines struct {
	model      *meta.Model
	generation int64 // version of the model
	tracking   catalog.Tracking
	finder     *find.Finder
	hooks      *webhook.Service
	assets     *asset.Engine // assets, bulk, rest, tags, undo and plan are nil unless the role writes
	bulk       *bulk.Engine
	rest       *rest.Engine
	tags       *tags.Service
	undo       *undo.Engine
	plan       *plan.Engine
	feed       *feed.Service // feed and served are nil unless the role serves the interface
	docs       *describe.Documents
	served     *httpapi.Engines
}

// newEngines builds the first set of engines, with the parts that all sets share. It has the
// model of the program without custom attributes, so it serves no requests.
func (s *service) newEngines(m *meta.Model) *engines {
	e := &engines{model: m, finder: find.New(s.DB, m), docs: describe.New(m, fourNumbers(release.Version()))}
	e.finder.MaxAnswer = int64(s.cfg.MaxAnswer)
	e.finder.Contents = s.contents
	e.finder.Slowest = s.slowest
	e.finder.Register(s.metrics)
	e.hooks = webhook.New(s.DB, m, webhook.Options{
		Find: e.finder, Present: s.presentHooks, Actors: s.Auth, Box: s.box, Public: s.public, MaxEnabled: s.cfg.WebhookMaxEnabled,
		DisableAfter: s.cfg.WebhookDisableAfter, Retention: s.cfg.WebhookKeep,
		Log: s.component("webhook"), Metrics: s.metrics,
	})
	if !s.role.HTTP && !s.role.works {
		return e
	}
	e.assets = asset.New(s.DB, m, s.Auth, committed{s.client, s.feed})
	e.assets.Requests.Retention = s.cfg.IdempotencyKeep
	e.assets.MaxWritten = max(asset.MaxWritten, 2*s.cfg.MaxBody)
	e.assets.MaxAssets, e.assets.OnScopesHidden, e.assets.OnRolesChanged = s.cfg.MaxAssets, s.Auth.ScopesHidden, s.Auth.RolesChanged
	e.assets.Unwatched = s.unwatched.Generation
	e.assets.OnModelChanged, e.assets.OnLoginsChanged = s.modelChanged, s.Auth.LoginsChanged
	e.assets.Contents, e.assets.MaxContent = s.contents, int64(s.cfg.MaxAttachment)
	e.bulk = bulk.New(e.assets, e.finder)
	e.bulk.Queries = s.DB.Elsewhere()
	e.bulk.MaxCommands, e.bulk.MaxAssets, e.bulk.Audit = s.cfg.MaxCommands, s.cfg.MaxAssets, s.trail
	e.bulk.Register(s.metrics)
	return e
}

// with returns a set for another model. The new set and e share the parts that do not depend on the
// model.
func (e *engines) with(p catalog.Present) *engines {
	other := &engines{model: p.Model, generation: p.Generation, tracking: p.Tracking, finder: e.finder.With(p.Model), docs: e.docs.With(p.Model)}
	other.hooks = e.hooks.With(p.Model, other.finder)
	if e.assets != nil {
		other.assets = e.assets.With(p.Model, p.Generation)
		other.assets.NobodyElsewhere, other.assets.Tracking = !p.ReadElsewhere, p.Tracking
		other.bulk = e.bulk.With(other.assets, other.finder)
		other.rest = rest.New(other.assets, other.finder)
		other.tags = tags.New(other.assets)
		other.undo = undo.New(other.assets)
		other.plan = plan.New(other.assets, other.bulk, other.undo)
		other.plan.Expect = other.hooks.Expect
	}
	return other
}

// use makes e the current set. Requests that begin later use it.
func (s *service) use(e *engines) {
	if s.role.HTTP {
		e.feed = feed.New(s.DB, e.model, feed.Options{Log: s.feed, Generation: e.generation, Find: e.finder, Actors: s.Auth, Public: s.public})
		e.served = &httpapi.Engines{
			Credentials: s.Auth,
			Bulk:        commands{s.async, s, e},
			Undo:        undoing{s.async, s, e},
			Plans:       planning{s, e},
			Queries:     reader{s.DB.Elsewhere(), e.finder.On(s.DB.Elsewhere())},
			Writes:      writer{e.rest, s, e},
			Roles:       roles.New(s.DB, e.model, e.finder),
			Tags:        tagging{e.tags, s, e},
			Activity:    e.activity(s.DB.Elsewhere()),
			Changes:     following{s, e},
			Webhooks:    subscribing{e.hooks, s},
			Tokens:      s.Auth,
			Audit:       s.trail,
			System:      s.system,
			Metadata:    e.docs,

			Localization:  s.localizing(e),
			Configuration: describe.NewConfiguration(fourNumbers(release.Version()), s.cfg.MaxAttachment, string(e.tracking.Story), string(e.tracking.Defect)),
			Attachments:   attachment.New(e.model, e.finder, int64(s.cfg.MaxAttachment)),
		}
	}
	s.present.Store(e)
	s.newModel.tell()
}

// localizing implements httpapi.Localization: the texts of a model, and the texts that
// administrators have set.
type localizing struct {
	*localization.Texts
	*localization.Service
}

// localizing returns the texts of the model of e.
func (s *service) localizing(e *engines) localizing {
	return localizing{s.texts.With(s.words.WithModel(e.model)), s.texts}
}

// activity returns the reader of activity streams.
func (e *engines) activity(d *db.DB) *activity.Service {
	a := activity.New(d, e.model, e.finder)
	a.MaxAnswer = e.finder.MaxAnswer
	return a
}

// served returns the API's engines of the current set.
func (s *service) served() *httpapi.Engines { return s.present.Load().served }

// fourNumbers returns a version in the form that clients of metadata read: the numbers of the
// release, and then the day of the source, or 0 if the version has no day.
// Spec: interface 9.
func fourNumbers(version string) string {
	number, build, _ := strings.Cut(version, "+")
	day, _, _ := strings.Cut(build, ".")
	return number + "." + cmp.Or(day, "0")
}
