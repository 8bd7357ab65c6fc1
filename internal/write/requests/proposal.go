package requests

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of proposals: how many a member may have that nobody has decided, and the bytes of one, as they are
// stored.
const (
	maxProposals    = 100
	maxProposalSize = 4 << 20
)

// Proposal is what is stored about a proposal besides its asset: a request and its effect.
type Proposal struct {
	Asset         int64  // stored id
	Plan          string // id of the plan that applies it
	Member        int64  // stored id of the member who has proposed it
	Request       []byte
	Effect        []byte
	Subscriptions int // number of webhook subscriptions to which it would be sent; -1: unknown
}

// proposalRow is a row of proposal.
type proposalRow struct {
	AssetID         int64 `gorm:"primaryKey;autoIncrement:false"`
	PlanID          string
	MemberID        int64
	Request, Effect []byte // as compress returns them
	Subscriptions   int
}

// TableName returns the name of the table for gorm.
func (proposalRow) TableName() string { return "proposal" }

// Propose stores a proposal in the transaction that creates or changes its asset. It replaces the request and
// the effect that the proposal had before.
// Errors: fault.Invalid if the proposal is too large, or if the member has too many.
func (s *Store) Propose(ctx context.Context, tx *db.Tx, p Proposal) error {
	row := proposalRow{AssetID: p.Asset, PlanID: p.Plan, MemberID: p.Member, Subscriptions: p.Subscriptions}
	var err error
	if row.Request, err = compress(p.Request); err == nil {
		row.Effect, err = compress(p.Effect)
	}
	if err != nil {
		return err
	}
	if len(row.Request)+len(row.Effect) > maxProposalSize {
		return fault.Invalidf(fault.NoPlace, "The proposal is too large: its commands and its effect have more than %d bytes", maxProposalSize)
	}
	var open int
	const undecided = `SELECT COUNT(*) FROM proposal p JOIN asset a ON a.id = p.asset_id WHERE p.member_id = ? AND p.asset_id <> ? AND a.state = ?`
	if err := tx.QueryRow(ctx, undecided, p.Member, p.Asset, meta.StateActive).Scan(&open); err != nil {
		return fmt.Errorf("count proposals: %w", err)
	}
	if open >= maxProposals {
		return fault.Invalidf(fault.NoPlace, "The member has %d proposals that nobody has decided, and may not have more", open)
	}
	if err := tx.Gorm().Delete(&proposalRow{}, "asset_id = ?", p.Asset).Error; err != nil {
		return err
	}
	return tx.Gorm().Create(&row).Error
}

// FindProposal returns a proposal by the stored id of its asset. The uncompressed sizes are added to the memory
// reservation of ctx.
// Errors: fault.NotFound; those of memory.Hold.
func (s *Store) FindProposal(ctx context.Context, asset int64) (*Proposal, error) {
	return s.proposal(ctx, "asset_id = ?", asset)
}

// FindProposalOf does the same as FindProposal for the proposal that a plan applies.
func (s *Store) FindProposalOf(ctx context.Context, plan string) (*Proposal, error) {
	if uuid.Validate(plan) != nil {
		return nil, fault.NotFoundf("There is no such plan")
	}
	return s.proposal(ctx, "plan_id = ?", plan)
}

func (s *Store) proposal(ctx context.Context, where string, value any) (*Proposal, error) {
	var row proposalRow
	if err := s.db.Gorm(ctx).Where(where, value).Take(&row).Error; err != nil {
		return nil, err
	}
	p := &Proposal{Asset: row.AssetID, Plan: row.PlanID, Member: row.MemberID, Subscriptions: row.Subscriptions}
	var err error
	if p.Request, err = decompress(ctx, row.Request); err == nil {
		p.Effect, err = decompress(ctx, row.Effect)
	}
	return p, err
}

// IsUsed reports whether the proposal was applied by its plan. After an undo of that it needs another plan.
func (p *Proposal) IsUsed() bool { return strings.HasPrefix(p.Plan, used) }

// used begins the plan of a proposal that was applied.
const used = "used "

// Applied stores the answer of a member's request that has applied a proposal, in the transaction of that
// request, so that FindPlan returns the answer if the request is repeated. The plan of the proposal ends.
// Errors: fault.Invalid if the answer is too large.
func (s *Store) Applied(tx *db.Tx, p *Proposal, member int64, request, answer []byte) error {
	now := time.Now()
	row := requestRow{
		ID: p.Plan, Status: answered, ActorID: member, BodyHash: isPlan, Request: request,
		CreatedAt: now.UnixMicro(), ExpiresAt: now.Add(s.Retention).UnixMicro(),
	}
	var err error
	if row.Answer, err = compress(answer); err != nil {
		return err
	}
	ended := tx.Gorm().Model(&proposalRow{}).Where("asset_id = ?", p.Asset).Update("plan_id", used+strconv.FormatInt(p.Asset, 10))
	if ended.Error != nil {
		return ended.Error
	}
	return tx.Gorm().Create(&row).Error
}
