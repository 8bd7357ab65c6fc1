package requests

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// requestRow is a row of bulk_request. Instants are UTC microseconds.
type requestRow struct {
	ID                   string `gorm:"primaryKey"`
	ActorID              int64
	TokenID              *string // access token with which the request was sent
	IdemKey              *string
	BodyHash             string
	Status               int
	Request, Answer      []byte // as compress returns them
	CreatedAt, ExpiresAt int64  `gorm:"autoCreateTime:false"`
	Owner                *string
	Lease                int64
	Commands             int
	Claims               int
	Progress             []byte // as compress returns it
	Executed             int

	Processing bool `gorm:"->"` // a worker has the lease
}

// TableName returns the name of the table for gorm.
func (requestRow) TableName() string { return "bulk_request" }

// expired restricts a query to requests whose retention is over. A waiting request never expires.
func expired(g *gorm.DB) *gorm.DB {
	return g.Where("expires_at <= ? AND status <> ?", time.Now().UnixMicro(), waiting)
}

// withKey restricts a query to the request of a member with a key.
func withKey(member int64, key string) func(*gorm.DB) *gorm.DB {
	return func(g *gorm.DB) *gorm.DB { return g.Where("actor_id = ? AND idem_key = ?", member, key) }
}

// state returns the request as a State, with its answer decompressed.
func (r *requestRow) state(ctx context.Context) (State, error) {
	s := State{
		ID: r.ID, Member: r.ActorID, Created: time.UnixMicro(r.CreatedAt), Commands: r.Commands,
		Executed: r.Executed, Done: r.Status != waiting, Processing: r.Processing,
	}
	if r.TokenID != nil {
		s.Token = *r.TokenID
	}
	answer, err := decompress(ctx, r.Answer)
	if r.Status == refused && err == nil {
		s.Err = decodeFault(answer)
	} else {
		s.Answer = answer
	}
	return s, err
}
