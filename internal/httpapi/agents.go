package httpapi

import (
	"bytes"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/admission"
)

// agents is the path to which agents send their calls, below the instance.
const agents = "mcp"

// agentChallenge is sent with a 401 of agents. A client of agents that reads Basic would ask its user for a
// password.
const agentChallenge = `Bearer realm="alds"`

// Limits of the calls of agents. A call waits for the requests that it sends to the interface. It has a queue of
// its own, so that it does not hold a slot that these requests need.
const (
	maxCalls    = 256     // calls that run at the same time; some of them wait for changes
	maxOwnCalls = 32      // calls of one member that run at the same time; more than may wait for changes
	maxCall     = 4 << 20 // bytes of a call
	callMemory  = 8 << 20 // bytes reserved for a call, in addition to its body: an answer of the interface, and its parsed form
)

func callerBounds() admission.Bounds {
	return admission.Bounds{Running: maxCalls, PerKey: maxOwnCalls, Line: maxOwnCalls, Waiting: maxCalls, Wait: maxWait}
}

// registerAgents adds the path of agents to the router.
func (a *API) registerAgents(instance fiber.Router) {
	if a.agents == nil {
		return
	}
	path := "/" + agents
	instance.Add(methodPost, path, challengeAgent, a.authenticate, a.serveAgent)
	refuse := methodNotAllowed(post)
	for _, m := range methods {
		switch m {
		case methodPost:
		case methodGet:
			instance.Add(m, path, challengeAgent, a.authenticate, refuse)
		default:
			instance.Add(m, path, refuse)
		}
	}
}

// challengeAgent sets the challenge of a 401.
func challengeAgent(c *fiber.Ctx) error {
	x := exchangeOf(c)
	x.route, x.challenge = agents, agentChallenge
	return c.Next()
}

// serveAgent answers a call of an agent. Spec: interface 4.20.
func (a *API) serveAgent(c *fiber.Ctx) error {
	x := exchangeOf(c)
	if err := a.checkOrigin(c, Route{}); err != nil {
		return err
	}
	x.hold = a.memory.Hold(x.who.Member)
	x.onRelease(x.hold.Release)
	body, err := x.body.read(maxCall, x.hold)
	if err != nil {
		return err
	}
	x.received = len(body)
	leave, err := a.callers.Enter(c.UserContext(), x.who.Member)
	if err != nil {
		return err
	}
	x.leave = leave
	x.onRelease(leave)
	defer x.handled()
	if err := x.hold.Take(document.MemoryNeed(body, document.JSON) + callMemory); err != nil {
		return err
	}
	if err := isOneCall(body); err != nil {
		return err
	}
	r, err := a.pageRequest(c, x, bytes.NewReader(body))
	if err != nil {
		return err
	}
	w := &pageAnswer{header: http.Header{}, status: http.StatusOK}
	a.agents.ServeHTTP(w, r)
	if x.clientGone.Load() {
		x.brokenBy = "client"
	}
	w.send(c, x)
	return nil
}

// isOneCall refuses a body that is not one JSON object of limited depth. A list could have thousands of calls.
// Errors: fault.Invalid.
func isOneCall(body []byte) error {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return fault.Invalidf(fault.NoPlace, "The body must be one JSON object: lists of calls are not supported")
	}
	_, err := document.Parse(body, false)
	return err
}
