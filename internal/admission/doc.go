// Package admission decides when a request may be worked on.
//
// A Queue lets a bounded number run at the same time, and of each key, such as
// a member, fewer than that. What may not run yet waits in the line of its key;
// the lines take turns, so that a key with a thousand requests delays another's
// one request by one of its own. A line has a bounded length and nobody waits
// longer than a bounded time: beyond, a request is refused at once, which costs
// less than working on what nobody waits for any more.
package admission
