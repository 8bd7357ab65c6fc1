// Package admission decides when a request may run.
//
// A Queue runs a bounded number of requests at the same time, and fewer of each
// key, such as a member. It may bound those that were admitted a moment ago, too:
// short requests then run a few at a time, which ends each of them sooner, and one
// that is slow makes room for others without having ended. The others wait in a queue of their key. Every other turn is
// round robin, so that a key with a thousand requests delays the request of another
// key by one of its own; the turns between them go to the key with the fewest
// requests, so that a key that asks now and then does not wait for a whole round.
// Length and waiting time are bounded: a request above the bounds is refused at once,
// which costs less than executing it after its client has given up.
package admission
