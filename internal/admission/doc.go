// Package admission decides when a request may run.
//
// A Queue runs a bounded number of requests at the same time, and fewer of each
// key, such as a member. The others wait in a queue of their key; the queues are
// served round robin, so that a key with a thousand requests delays the request
// of another key by one of its own. Length and waiting time are bounded: a request
// above the bounds is refused at once, which costs less than executing it after
// its client has given up.
package admission
