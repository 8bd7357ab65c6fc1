package main

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/alds-dev/alds/bench/rig"
)

// feedPage is the default page size of the feed.
const feedPage = 100

// position sends a request for the feed. The first request makes the service assign feed positions
// to all audits (an audit is a row for one write).
func position(s *sides) error {
	c, err := rig.Dial(s.service)
	if err != nil {
		return err
	}
	defer closeAll(c)
	_, err = c.Ask(rig.Get("/alds/api/changes", s.token))
	return err
}

// feedWorks returns the rows of the table about the feed of all changes. They read the stories with
// many versions. Each version has a separate audit, the row for one write, and a separate position
// in the feed. The position of an audit equals its moment: the service adds a shift to a moment only
// if a larger position was assigned before.
func feedWorks(l *layout) []work {
	last := l.wave(l.versions) + int64(l.streams()*streamVersions) - 1
	middle := func(n int) int64 { return l.streamMoment(n%l.streams(), streamVersions/4+n%100) }
	ask := func(position int64, more string) string {
		cursor := "0"
		if position > 0 {
			cursor = fmt.Sprintf("%d.%d", position, position)
		}
		return "/alds/api/changes?after=" + cursor + more
	}
	return []work{
		{
			name: "feed, 100 changes from the start", variants: 1, url: func(int) string { return ask(0, "") },
			floor: floorFeed(func(int) int64 { return 0 }, false),
		},
		{
			name: "feed, 100 changes in the middle", variants: 500, url: func(n int) string { return ask(middle(n), "") },
			floor: floorFeed(middle, false),
		},
		{
			name: "feed, 100 changes of stories with three values", variants: 500, url: func(n int) string {
				return ask(middle(n), "&from=Story&select="+url.QueryEscape("Name,Estimate,Owners.Name"))
			}, floor: floorFeed(middle, true),
		},
		{
			name: "feed, nothing new behind " + strconv.Itoa(l.streams()*streamVersions) + " changes", variants: 1,
			url: func(int) string { return fmt.Sprintf("/alds/api/changes?after=%d.0", last+1) }, floor: floorFeedEnd(last),
		},
	}
}
