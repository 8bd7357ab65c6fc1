package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/bulk"
	"github.com/alds-dev/alds/internal/rest"
	"github.com/alds-dev/alds/internal/webhook"
)

// Credentials authenticates. The permissions of a member are read apart, so that
// a request that is refused before does not read them.
type Credentials interface {
	Basic(ctx context.Context, username, password, addr string) (member int64, err error)
	Bearer(ctx context.Context, token string) (member int64, err error)
	Proven(ctx context.Context, member int64) (auth.Actor, error)
}

// Bulk executes the commands of POST api/asset. Every answer is the JSON to send.
type Bulk interface {
	Run(ctx context.Context, who auth.Actor, r bulk.Request) ([]byte, error)
	Accept(ctx context.Context, who auth.Actor, r bulk.Request) (bulk.Accepted, error)
	Progress(ctx context.Context, who auth.Actor, id string) ([]byte, error)
}

// Writes changes one asset at a time. Every answer is the JSON to send.
type Writes interface {
	Write(ctx context.Context, who auth.Actor, w rest.Write) ([]byte, error)
	Template(ctx context.Context, who auth.Actor, base, typ, context string) ([]byte, error)
}

// Queries answers reads.
type Queries interface {
	// Rows answers query.v1: an array of result sets.
	Rows(ctx context.Context, who auth.Actor, d Doc) (Answer, error)
	// Assets answers a read by path.
	Assets(ctx context.Context, who auth.Actor, r PathRead) (Answer, error)
}

// Answer is the answer to a read.
type Answer struct {
	Body   []byte
	Result []byte // JSON for the header Alds-Result; empty: no header
	Stream Stream // makes the body, of any size, when set
}

// Stream makes the body of an answer. It passes each part to flush, continues in
// the buffer that flush returns, and returns the last part. It runs after the
// handler has returned, when the body of the request is no longer valid.
type Stream func(ctx context.Context, flush Flush) ([]byte, error)

// Flush sends a part of an answer. After an error the rest is not wanted.
type Flush func(w []byte) ([]byte, error)

// Doc is a body in JSON or YAML. It is valid during the call.
type Doc struct {
	Body []byte
	YAML bool
}

// PathRead is a read by path.
//
//	rest-1.v1/Data/Story/1064/Owners?sel=Name
//	{Base: "/alds/rest-1.v1/Data", Type: "Story", ID: "1064", Attr: "Owners", Params: {"sel": "Name"}}
type PathRead struct {
	Base   string // what hrefs start with; keeps the alias of the request
	Type   string // as the client wrote it
	ID     string // digits; empty for all assets of the type
	Moment string // digits; empty for now
	Attr   string // attribute token; empty for the whole asset
	Hist   bool   // all versions
	Params Params
}

// Webhooks manages subscriptions.
type Webhooks interface {
	Create(ctx context.Context, who auth.Actor, body []byte) (webhook.Subscription, error)
	Update(ctx context.Context, who auth.Actor, id string, body []byte) (webhook.Subscription, error)
	Delete(ctx context.Context, who auth.Actor, id string) (webhook.Subscription, error)
	List(ctx context.Context, who auth.Actor, page string) (webhook.List, error)
	Status(ctx context.Context, who auth.Actor, id string) ([]webhook.Receipt, error)
	Test(ctx context.Context, who auth.Actor, id string) (webhook.Queued, error)
	Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) (webhook.Queued, error)
	Deliveries(ctx context.Context, who auth.Actor, id string, q webhook.DeliveryQuery) (webhook.DeliveryList, error)
}

// Roles reports who has which role where. Every answer is the JSON to send.
type Roles interface {
	ByProject(ctx context.Context, who auth.Actor, where string) ([]byte, error)
	ByMember(ctx context.Context, who auth.Actor, where string) ([]byte, error)
}

// Tags counts tags and changes them on all assets. Every answer is the JSON to
// send.
type Tags interface {
	One(ctx context.Context, who auth.Actor, tag string) ([]byte, error)
	All(ctx context.Context, who auth.Actor) ([]byte, error)
	Search(ctx context.Context, who auth.Actor, term string) ([]byte, error)
	Merge(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
	Remove(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
}
