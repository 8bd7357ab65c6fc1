package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// The data for activity streams: stories with 500 versions each, all in one project. Only
// administrators see this project.
const (
	streamScope    = 9000
	streamVersions = 500
	firstAudit     = 10_000
)

// streams returns the number of stories with many versions: 200 for 100,000 assets and more.
func (l *layout) streams() int { return min(l.assets/500, 200) }

func (l *layout) streamStory(n int) int64 { return l.id(len(l.items)) + int64(n) }

// change returns the index of a version of the nth story among all versions of the stories with
// many versions. The stories are changed in turn.
func (l *layout) change(n, version int) int64 { return int64(version*l.streams() + n) }

func (l *layout) streamMoment(n, version int) int64 {
	if version == streamVersions {
		return db.Forever
	}
	return l.wave(l.versions) + l.change(n, version)
}

func (l *layout) streamAt(n, version int) time.Time {
	return at(l.versions).Add(time.Duration(l.change(n, version)) * time.Second)
}

// Every version has a new estimate, and every third version a new name. Each version whose
// number ends in 5 adds an owner, and the next version whose number ends in 0 removes this owner.
func streamName(n, version int) string {
	return fmt.Sprintf("Let the gardener order seeds of kind %d, draft %d", n, version/3)
}

func streamOwner(version int) int64 { return firstMember + int64(version/10) }

func streamLinked(version int) bool { return version%10 == 5 || version > 0 && version%10 == 0 }

// streamColumns are the columns that have values in the versions of these stories. The columns before
// the column name have values in every version, and are not listed.
var streamColumns = strings.Fields("name number description scope_id order_key estimate attrs")

func streamValues(n, version int) []any {
	return []any{
		streamName(n, version), fmt.Sprintf("S-%d", n), description, streamScope, int64(n) + 1, float64(version), fmt.Sprintf(`{"Reference": "REF-%d"}`, n),
	}
}

// activity writes the stories with many versions, and for each version a row in the table audit.
func (s *store) activity(ctx context.Context, l *layout) error {
	total := l.streams() * streamVersions
	of := func(i int) (n, version int) { return i % l.streams(), i / l.streams() }
	err := s.insert(ctx, "audit", strings.Fields("id request_id actor_id at first_moment last_moment generation fan_state"), total, func(i int) []any {
		n, v := of(i)
		moment := l.streamMoment(n, v)
		return []any{firstAudit + int64(i), fmt.Sprintf("00000000-0000-4000-8000-%012d", i), admin, l.streamAt(n, v).UnixMicro(), moment, moment, 0, 1}
	})
	if err != nil {
		return err
	}
	fixed := func(n, version int) []any {
		return []any{
			l.streamStory(n), typeStory, active, l.streamMoment(n, version), firstAudit + l.change(n, version), l.streamMoment(n, 0),
			l.streamAt(n, 0).UnixMicro(), admin, l.streamAt(n, version).UnixMicro(), admin,
		}
	}
	columns := slices.Concat(assetColumns[:10], streamColumns)
	err = s.insert(ctx, "asset", columns, l.streams(), func(n int) []any {
		return slices.Concat(fixed(n, streamVersions-1), streamValues(n, streamVersions-1))
	})
	if err != nil {
		return err
	}
	columns = append(columns, "until_moment", "linked")
	err = s.insert(ctx, "asset_version", columns, total, func(i int) []any {
		n, v := of(i)
		return slices.Concat(fixed(n, v), streamValues(n, v), []any{l.streamMoment(n, v+1), streamLinked(v)})
	})
	if err != nil {
		return err
	}
	columns = []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}
	return s.insert(ctx, "asset_link", columns, total/10, func(i int) []any {
		n, ten := of(i)
		return []any{ownersRelation, typeStory, l.streamStory(n), streamOwner(10 * ten), l.streamMoment(n, 10*ten+5), l.streamMoment(n, 10*ten+10)}
	})
}

// streamWorks returns the rows of the table that measure activity streams.
func streamWorks(l *layout) []work {
	return []work{
		{name: "25 items of a story with 500 versions", variants: l.streams(), url: func(n int) string {
			return "/alds/api/ActivityStream/Story:" + strconv.FormatInt(l.streamStory(n), 10)
		}, floor: func(ctx context.Context, q db.Querier, n int, w []byte) ([]byte, error) {
			return floorStream(ctx, q, "Story", l.streamStory(n), ofStory, leftStory, w)
		}},
		{name: "25 items of a project with " + strconv.Itoa(l.streams()*streamVersions) + " changes", variants: 1, url: func(int) string {
			return "/alds/api/ActivityStream/Scope:" + strconv.Itoa(streamScope)
		}, floor: func(ctx context.Context, q db.Querier, _ int, w []byte) ([]byte, error) {
			return floorStream(ctx, q, "Scope", streamScope, ofProject, leftProject, w)
		}},
	}
}
