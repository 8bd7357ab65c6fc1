// Package admission decides when a request may run.
//
// A Queue runs a limited number of requests at the same time, and fewer of each key, such as
// a member. It may also limit the requests that were admitted a moment ago. Then short
// requests run a few at a time, so that each ends sooner, and a slow request makes room for
// others before it ends.
//
// Other requests wait in the queue of their key. Every second turn is round robin, so that a
// key with a thousand requests delays the request of another key by only one of its own. The
// turns in between go to the key with the fewest requests, so that an occasional request does
// not wait for a whole round.
//
// Length and waiting time are limited. A request above the limits is refused at once, which
// costs less than executing it after its client has given up.
//
// Turns is the simple case: one request at a time, and the keys one after the other.
package admission
