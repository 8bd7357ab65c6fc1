package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/localization"
	"github.com/alds-dev/alds/internal/operate/system"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/describe"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/rest"
	"github.com/alds-dev/alds/internal/write/undo"
)

// engines is a fake of every engine. It answers with its arguments, returns err, or panics.
type engines struct {
	err     error
	panics  bool
	entered chan struct{} // if set: a call closes it and then waits for leave
	leave   chan struct{}
	stream  Stream // if set: the answer to reads of rest-1.v1
	watch   func(context.Context) (context.Context, func())
}

// fixed is a set of engines that never changes.
func fixed(e Engines) func() *Engines { return func() *Engines { return &e } }

func (e engines) say(format string, args ...any) ([]byte, error) {
	if e.entered != nil {
		close(e.entered)
		<-e.leave
	}
	if e.panics {
		panic("the engine broke")
	}
	if e.err != nil {
		return nil, e.err
	}
	return json.Marshal(fmt.Sprintf(format, args...))
}

func (e engines) Basic(_ context.Context, user, password, _ string) (auth.Login, error) {
	switch {
	case user == "slow":
		return auth.Login{}, &auth.SlowDownError{After: 1500 * time.Millisecond}
	case user == "admin" && password == "a:b":
		return auth.Login{Member: auth.SystemMember}, nil
	}
	return auth.Login{}, fault.Unprovenf("Unknown username or wrong password")
}

func (e engines) Bearer(_ context.Context, token string) (auth.Login, error) {
	if token == "1.good" {
		return auth.Login{Member: auth.SystemMember}, nil
	}
	return auth.Login{}, fault.Unprovenf("The access token is not valid")
}

func (e engines) Proven(_ context.Context, l auth.Login) (auth.Actor, error) {
	if l.Member != auth.SystemMember {
		return auth.Actor{}, fault.Unprovenf("The member no longer exists")
	}
	return auth.System, nil
}

func (e engines) Watch(ctx context.Context, _ auth.Login, _ auth.Actor) (context.Context, func()) {
	if e.watch != nil {
		return e.watch(ctx)
	}
	return ctx, func() {}
}

func (e engines) Run(_ context.Context, _ auth.Actor, r bulk.Request) ([]byte, error) {
	if r.Atomic || r.Comment != "" {
		return e.say("bulk atomic=%v comment=%s", r.Atomic, r.Comment)
	}
	return e.say("bulk yaml=%v preview=%v %s", r.YAML, r.Preview, r.Body)
}

func (e engines) Accept(_ context.Context, _ auth.Actor, r bulk.Request) (bulk.Accepted, error) {
	b, err := e.say("accepted atomic=%v key=%s %s", r.Atomic, r.Key, r.Body)
	return bulk.Accepted{ID: "r1", Body: b, Done: r.Key == "known"}, err
}

func (e engines) Progress(_ context.Context, _ auth.Actor, id string) ([]byte, error) {
	return e.say("progress %s", id)
}

func (e engines) Rows(_ context.Context, _ auth.Actor, requests []query.Request) (Answer, error) {
	b, err := e.say("rows of %s", requests[0].From.Text)
	return Answer{Body: b}, err
}

func (e engines) Assets(ctx context.Context, _ auth.Actor, r query.Request, form encode.Form, flush find.Flush) ([]byte, error) {
	if e.stream != nil {
		return e.stream(ctx, flush)
	}
	text := func(list []query.Text) (s string) {
		for _, t := range list {
			s += t.Text
		}
		return s
	}
	attr := ""
	for _, item := range r.Select {
		attr += item.Text.Text
	}
	return e.say("assets %s from=%s attr=%s where=%s", form.Base, r.From.Text, attr, text(r.Filter))
}

// described returns a document whose body is a text about the call.
func (e engines) described(format string, args ...any) (describe.Document, error) {
	b, err := e.say(format, args...)
	return describe.Document{Body: b, Gzip: []byte("packed"), Tag: "t1"}, err
}

func (e engines) Model(base string, _ document.Format) describe.Document {
	d, _ := e.described("all of %s", base)
	return d
}

func (e engines) Type(base, name string, _ document.Format) (describe.Document, error) {
	return e.described("type %s %s", base, name)
}

func (e engines) Part(base, typ, name string, _ document.Format) (describe.Document, error) {
	return e.described("part %s %s %s", base, typ, name)
}

func (engines) In(_ context.Context, accept string) (localizer.Texts, error) {
	return localizer.New(meta.Default(), "Scrum").In(accept), nil
}

// undoer answers undos.
type undoer struct{ engines }

func (u undoer) Run(_ context.Context, _ auth.Actor, r undo.Request) ([]byte, error) {
	if string(r.Body) == `"conflict"` {
		return []byte(`{"undone":false,"requestId":"r","error":"conflicts","exceptions":[{"message":"conflicts"}]}`), nil
	}
	return u.say("undo preview=%v comment=%s key=%s moment=%d yaml=%v %s", r.Preview, r.Comment, r.Key, r.IfMoment, r.YAML, r.Body)
}

func (u undoer) AcceptUndo(ctx context.Context, who auth.Actor, r undo.Request) (bulk.Accepted, error) {
	return u.Accept(ctx, who, bulk.Request{Body: r.Body, Key: r.Key})
}

// planner answers what concerns plans and proposals.
type planner struct{ engines }

func (p planner) Make(context.Context, auth.Actor, bulk.Request) ([]byte, error) {
	return p.say("plan")
}

func (p planner) Apply(_ context.Context, _ auth.Actor, id string) ([]byte, error) {
	return p.say("apply %s", id)
}

func (p planner) Propose(_ context.Context, _ auth.Actor, body []byte, yaml bool) ([]byte, error) {
	return p.say("propose yaml=%v %s", yaml, body)
}

func (p planner) Renew(_ context.Context, _ auth.Actor, proposal string, body []byte, yaml bool) ([]byte, error) {
	return p.say("renew %s yaml=%v %s", proposal, yaml, body)
}

func (p planner) Read(_ context.Context, _ auth.Actor, id string) ([]byte, error) {
	return p.say("plan %s", id)
}

func (p planner) Show(_ context.Context, _ auth.Actor, proposal string) ([]byte, error) {
	return p.say("effect of %s", proposal)
}

// systems is a fake of System. It is a separate type, because engines already has other methods
// with the same names.
type systems struct{ engines }

func (s systems) Status(context.Context, auth.Actor) (system.Status, error) {
	_, err := s.say("")
	return system.Status{Type: "status"}, err
}

func (s systems) Start(context.Context, auth.Actor) (system.State, error) {
	_, err := s.say("")
	return system.State{State: "started"}, err
}

func (s systems) Check(context.Context, auth.Actor) (system.State, error) {
	_, err := s.say("")
	return system.State{State: "checked"}, err
}

func (s systems) Settings(context.Context, auth.Actor) (system.Settings, error) {
	_, err := s.say("")
	return system.Settings{Type: "settings"}, err
}

func (s systems) ChangeSettings(_ context.Context, _ auth.Actor, body []byte, _ bool) (system.Settings, error) {
	_, err := s.say("")
	return system.Settings{Type: string(body)}, err
}

// texts is a fake of Localization. It is a separate type, because engines already has other
// methods with the same names.
type texts struct{ engines }

func (t texts) List(context.Context, auth.Actor) (localization.List, error) {
	_, err := t.say("list")
	return localization.List{Type: "texts"}, err
}

func (t texts) Change(_ context.Context, _ auth.Actor, body []byte, _ bool) (localization.List, error) {
	_, err := t.say("change")
	return localization.List{Type: "texts " + string(body)}, err
}

// subscription returns a subscription whose description is a text about the call.
func (e engines) subscription(format string, args ...any) (webhook.Subscription, error) {
	_, err := e.say(format, args...)
	return webhook.Subscription{Description: fmt.Sprintf(format, args...)}, err
}

func (e engines) MakeToken(_ context.Context, l auth.Login, _ auth.Actor, body []byte, yaml bool) (auth.TokenView, error) {
	_, err := e.say("make")
	return auth.TokenView{Name: fmt.Sprintf("make by %d yaml=%v %s", l.Member, yaml, body)}, err
}

func (e engines) ListTokens(_ context.Context, l auth.Login, who auth.Actor, member string) (auth.TokenList, error) {
	_, err := e.say("tokens")
	return auth.TokenList{Tokens: []auth.TokenView{{Name: fmt.Sprintf("tokens by %d admin=%v of %s", l.Member, who.Admin, member)}}}, err
}

func (e engines) EndToken(_ context.Context, l auth.Login, who auth.Actor, id string) (auth.TokenView, error) {
	_, err := e.say("end")
	return auth.TokenView{Name: fmt.Sprintf("end by %d admin=%v %s", l.Member, who.Admin, id)}, err
}

func (e engines) Create(_ context.Context, _ auth.Actor, body []byte) (webhook.Subscription, error) {
	return e.subscription("create %s", body)
}

func (e engines) Update(_ context.Context, _ auth.Actor, id string, body []byte) (webhook.Subscription, error) {
	return e.subscription("update %s %s", id, body)
}

func (e engines) Delete(_ context.Context, _ auth.Actor, id string) (webhook.Subscription, error) {
	return e.subscription("delete %s", id)
}

func (e engines) List(_ context.Context, _ auth.Actor, page string) (webhook.List, error) {
	_, err := e.say("list")
	return webhook.List{Type: "list " + page}, err
}

func (e engines) Subscription(_ context.Context, _ auth.Actor, id string) (webhook.Subscription, error) {
	return e.subscription("find %s", id)
}

func (e engines) Preview(_ context.Context, _ auth.Actor, body []byte) (webhook.Preview, error) {
	return webhook.Preview{Event: fmt.Appendf(nil, "%q", "preview "+string(body))}, nil
}

func (e engines) Delivery(_ context.Context, _ auth.Actor, id string) (delivery.Sent, error) {
	return delivery.Sent{View: delivery.View{ID: "delivery " + id}, Request: []byte("{}")}, nil
}

func (e engines) Status(_ context.Context, _ auth.Actor, id string) ([]webhook.Receipt, error) {
	_, err := e.say("status")
	return []webhook.Receipt{{ID: "status " + id}}, err
}

func (e engines) Test(_ context.Context, _ auth.Actor, id string) (webhook.Queued, error) {
	_, err := e.say("test")
	return webhook.Queued{DeliveryID: "test " + id}, err
}

func (e engines) Redeliver(_ context.Context, _ auth.Actor, id string, body []byte) (webhook.Queued, error) {
	_, err := e.say("redeliver")
	return webhook.Queued{DeliveryID: fmt.Sprintf("redeliver %s %s", id, body)}, err
}

func (e engines) Deliveries(_ context.Context, _ auth.Actor, id string, q webhook.DeliveryQuery) (webhook.DeliveryList, error) {
	_, err := e.say("deliveries")
	return webhook.DeliveryList{Type: fmt.Sprintf("deliveries %s %s %s", id, q.State, q.Page)}, err
}

func (e engines) ByProject(_ context.Context, _ auth.Actor, where string) ([]byte, error) {
	return e.say("by project %s", where)
}

func (e engines) ByMember(_ context.Context, _ auth.Actor, where string) ([]byte, error) {
	return e.say("by member %s", where)
}

func (e engines) One(_ context.Context, _ auth.Actor, tag string) ([]byte, error) {
	return e.say("tag %s", tag)
}

func (e engines) All(context.Context, auth.Actor) ([]byte, error) { return e.say("all tags") }

func (e engines) Search(_ context.Context, _ auth.Actor, term string) ([]byte, error) {
	return e.say("search %s", term)
}

func (e engines) Merge(_ context.Context, _ auth.Actor, body []byte) ([]byte, error) {
	return e.say("merge %s", body)
}

func (e engines) Remove(_ context.Context, _ auth.Actor, body []byte) ([]byte, error) {
	return e.say("remove %s", body)
}

func (e engines) Template(_ context.Context, _ auth.Actor, form encode.Form, typ, in string) ([]byte, error) {
	return e.say("template %s type=%s ctx=%s", form.Base, typ, in)
}

func (e engines) Write(_ context.Context, _ auth.Actor, w rest.Write) ([]byte, error) {
	return e.say("write %s type=%s id=%s op=%s %s", w.Form.Base, w.Type, w.ID, w.Op, w.Body)
}

func (engines) Note(context.Context, trail.Event) {}

func (e engines) Events(_ context.Context, may trail.Sight, q trail.Query) (trail.Page, error) {
	_, err := e.say("events")
	return trail.Page{Type: fmt.Sprintf("events all=%v %s", may.All, strings.Join([]string{q.Page, q.After, q.Kind, q.Actor, q.Member, q.Project, q.Since, q.Until}, " "))}, err
}

func (e engines) Page(_ context.Context, _ auth.Actor, r feed.Request) (feed.Page, error) {
	text, err := e.say("changes %v", r)
	return feed.Page{Events: []feed.Event{{Text: text}}}, err
}

func (engines) Wait(ctx context.Context, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

func (e engines) Stream(_ context.Context, _ auth.Actor, r activity.Request) (activity.Answer, error) {
	body, err := e.say("stream %v", r)
	return activity.Answer{Body: body, Next: 7}, err
}
