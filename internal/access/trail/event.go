package trail

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/oid"
)

// Kind is the kind of an event, as clients read it.
type Kind string

// The kinds.
// Spec: interface 4.9.
const (
	SignIn        Kind = "SignIn"
	SignInRefused Kind = "SignInRefused"
	// LoginChanged: a username, a password, or whether the member may log in.
	LoginChanged        Kind = "LoginChanged"
	TokenCreated        Kind = "TokenCreated"
	TokenRevoked        Kind = "TokenRevoked"
	RoleGranted         Kind = "RoleGranted" // a member got a role in a project
	RoleEnded           Kind = "RoleEnded"
	DefaultRoleChanged  Kind = "DefaultRoleChanged"
	SubscriptionCreated Kind = "SubscriptionCreated"
	SubscriptionChanged Kind = "SubscriptionChanged"
	SubscriptionDeleted Kind = "SubscriptionDeleted"
	LocalizationChanged Kind = "LocalizationChanged"
	SettingsChanged     Kind = "SettingsChanged"
	Imported            Kind = "Imported"
	Undone              Kind = "Undone"   // a write has taken back other writes
	Applied             Kind = "Applied"  // a proposal was applied
	Repaired            Kind = "Repaired" // the command repair has repaired rows
	Denied              Kind = "Denied"
	Unrecorded          Kind = "Unrecorded" // events of a kind were dropped; Count is their number
)

// allKinds are all kinds, in the order of the documentation.
var allKinds = []Kind{
	SignIn, SignInRefused, LoginChanged, TokenCreated, TokenRevoked, RoleGranted, RoleEnded, DefaultRoleChanged,
	SubscriptionCreated, SubscriptionChanged, SubscriptionDeleted, LocalizationChanged, SettingsChanged, Imported, Undone, Applied, Repaired, Denied, Unrecorded,
}

// Event is one event of the audit trail. Ids are stored ids.
type Event struct {
	Kind    Kind
	Actor   int64   // the member who caused the event; 0: the member of the context, if there is one
	Address string  // the address from which the event came; empty: the address of the context
	Member  int64   // the member whom the event concerns; 0: none
	Project *int64  // the project that the event concerns; nil: none
	Asset   oid.OID // the asset that the event concerns; its number is the one that clients see, not a stored id
	Count   int     // number of equal events; 0 counts as 1
	Detail  Detail
}

// Detail has the fields that only some kinds have.
// Spec: interface 4.9.
type Detail struct {
	Asset        string   `json:"asset,omitempty"`        // copied from the event
	Role         string   `json:"role,omitempty"`         // the granted, ended or new default role
	PreviousRole string   `json:"previousRole,omitempty"` // the previous default role
	Scheme       string   `json:"scheme,omitempty"`       // Basic or Bearer
	Token        string   `json:"token,omitempty"`        // the id of an access token
	TokenName    string   `json:"tokenName,omitempty"`
	Subscription string   `json:"subscription,omitempty"` // the id of a subscription
	URL          string   `json:"url,omitempty"`          // scheme and host of its receiver
	Changed      []string `json:"changed,omitempty"`      // the names of what was changed
	MayLogIn     *bool    `json:"mayLogIn,omitempty"`     // false: the member is closed, deleted or disabled; nil: unchanged
	Request      string   `json:"request,omitempty"`      // method and route, or a bulk request id
	Reason       string   `json:"reason,omitempty"`
	Undone       []string `json:"undone,omitempty"` // request ids of the writes that were taken back
	Assets       int      `json:"assets,omitempty"` // number of imported assets
	Dropped      Kind     `json:"dropped,omitempty"`
	Various      bool     `json:"various,omitempty"` // true: different events are counted together
}

// In returns a pointer to the stored id of a project, for Event.Project.
func In(project int64) *int64 { return &project }

func (e *Event) count() int { return max(1, e.Count) }

// maxText is the maximum number of characters of a stored text.
const maxText = 300

// clipped returns e with its texts cut to the lengths that are stored.
func (e Event) clipped() Event {
	e.Address = clip(e.Address, maxAddress)
	for _, s := range []*string{
		&e.Detail.Asset, &e.Detail.Role, &e.Detail.PreviousRole, &e.Detail.Scheme, &e.Detail.Token, &e.Detail.TokenName,
		&e.Detail.Subscription, &e.Detail.URL, &e.Detail.Request, &e.Detail.Reason,
	} {
		*s = clip(*s, maxText)
	}
	e.Detail.Changed = slices.Clone(e.Detail.Changed)
	return e
}

func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
