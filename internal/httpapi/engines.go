package httpapi

import (
	"context"

	"github.com/alds-dev/alds/internal/auth"
)

// Credentials proves who calls. What a member may see is read apart from that,
// so that it is not read for requests that are refused.
type Credentials interface {
	Basic(ctx context.Context, username, password, addr string) (member int64, err error)
	Bearer(ctx context.Context, token string) (member int64, err error)
	Proven(ctx context.Context, member int64) (auth.Actor, error)
}

// Bulk runs the commands of one request and answers with the response object.
type Bulk interface {
	Run(ctx context.Context, who auth.Actor, r BulkRequest) ([]byte, error)
	// Accept keeps the request to be carried out later.
	Accept(ctx context.Context, who auth.Actor, r BulkRequest) (Accepted, error)
	// Progress answers how far an accepted request is.
	Progress(ctx context.Context, who auth.Actor, id string) ([]byte, error)
}

// Accepted is the answer to a request that asked to be carried out later.
type Accepted struct {
	ID   string
	Body []byte
	Done bool // it was carried out before, under the same Idempotency-Key
}

// BulkRequest is the body of POST api/asset and what stands beside it.
type BulkRequest struct {
	Doc
	Preview  bool   // change nothing, answer with the projected commands
	Atomic   bool   // all commands or none
	Comment  string // kept with the change
	Key      string // Idempotency-Key; empty: none
	IfMoment int64  // the moment the one asset changed must have; 0: any
}

// Writes changes one asset at a time. Every answer is the JSON to send.
type Writes interface {
	Write(ctx context.Context, who auth.Actor, w PathWrite) ([]byte, error)
	// Template answers with what a new asset gets in a context.
	Template(ctx context.Context, who auth.Actor, base, typ, context string) ([]byte, error)
}

// PathWrite is a write by path.
//
//	POST rest-1.v1/Data/Story/1064?op=Copy
//	{Base: "/alds/rest-1.v1/Data", Type: "Story", ID: "1064", Op: "Copy"}
type PathWrite struct {
	Base     string
	Type     string // as the caller wrote it
	ID       string // digits; empty for a new asset
	Op       string // operation; empty: create or update
	Context  string // Oid token; may be empty
	Comment  string
	Key      string // Idempotency-Key; empty: none
	IfMoment int64  // the moment the asset must have; 0: any
	Body     []byte // may be empty; valid until the call returns
}

// Queries answers reads.
type Queries interface {
	// Rows answers query.v1: an array of result sets.
	Rows(ctx context.Context, who auth.Actor, d Doc) (Answer, error)
	// Assets answers a read by path.
	Assets(ctx context.Context, who auth.Actor, r PathRead) (Answer, error)
}

// Answer is what a read answers with.
type Answer struct {
	Body   []byte
	Result []byte // JSON for the header Alds-Result; empty when nothing was asked beside the rows
	Stream Stream // when set it makes the body, which may be of any size
}

// Stream makes the body of an answer: it hands what it has made so far to flush
// and goes on with the buffer that returns; what is left it returns. What it
// was called with is valid until it returns, the body of the request is not.
type Stream func(ctx context.Context, flush Flush) ([]byte, error)

// Flush takes a part of an answer. An error says that nobody wants the rest.
type Flush func(w []byte) ([]byte, error)

// Doc is a body in JSON, or in YAML when YAML says so. It is valid until the
// call it is handed to returns.
type Doc struct {
	Body []byte
	YAML bool
}

// PathRead is a read by path.
//
//	rest-1.v1/Data/Story/1064/Owners?sel=Name
//	{Base: "/alds/rest-1.v1/Data", Type: "Story", ID: "1064", Attr: "Owners", Params: {"sel": "Name"}}
type PathRead struct {
	Base   string // what hrefs start with; the alias the caller used stays
	Type   string // as the caller wrote it
	ID     string // digits; empty for all assets of the type
	Moment string // digits; empty for now
	Attr   string // attribute token; empty for the whole asset
	Hist   bool   // every version is wanted
	Params Params
}

// Webhooks keeps subscriptions. Every answer is the JSON to send.
type Webhooks interface {
	Create(ctx context.Context, who auth.Actor, body []byte) ([]byte, error)
	Update(ctx context.Context, who auth.Actor, id string, body []byte) ([]byte, error)
	Delete(ctx context.Context, who auth.Actor, id string) ([]byte, error)
	List(ctx context.Context, who auth.Actor, page string) ([]byte, error)
	Status(ctx context.Context, who auth.Actor, id string) ([]byte, error)
	Test(ctx context.Context, who auth.Actor, id string) ([]byte, error)
	Redeliver(ctx context.Context, who auth.Actor, id string, body []byte) ([]byte, error)
	Deliveries(ctx context.Context, who auth.Actor, id, state, page string) ([]byte, error)
}
