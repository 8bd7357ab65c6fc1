// Package admission decides when a request may run.
//
// A Queue runs a limited number of requests at the same time. The limit of one key, such as a
// member, is lower. A Queue may also limit the running requests that were admitted a short time
// ago. Then only a few short requests run at the same time, so each of them ends sooner. A request
// that has run for some time is not counted any more, so that another request can start before it
// ends.
//
// Other requests wait in the queue of their key. Every second turn is round robin: the keys take
// turns. So a key with a thousand waiting requests delays another key by only one request. The
// turns in between go to the key with the fewest requests, so that an occasional request does not
// wait for a whole round.
//
// The length of the queues and the waiting time are limited. A request above the limits is refused
// at once. This costs less than executing the request after its client has given up.
//
// The type Turns is the simple case: it runs one request at a time, and serves the keys one after
// the other.
package admission
