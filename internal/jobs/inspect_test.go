package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/alds-dev/alds/internal/events/webhook"
)

// await waits until a task is in the given state. It returns the task as monitoring tools of the
// queue show it.
func await(t *testing.T, q *Queue, queue, id string, state asynq.TaskState) *asynq.TaskInfo {
	t.Helper()
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	var info *asynq.TaskInfo
	var err error
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		if info, err = inspector.GetTaskInfo(queue, id); err == nil && info.State == state {
			return info
		}
	}
	t.Fatalf("%s is not %s: %+v %v", id, state, info, err)
	return nil
}

func rows(t *testing.T, info *asynq.TaskInfo) int64 {
	t.Helper()
	var r result
	if err := json.Unmarshal(info.Result, &r); err != nil {
		t.Fatalf("the result of %s: %v: %s", info.ID, err, info.Result)
	}
	return r.Rows
}

func TestTheQueueShowsEveryTaskAndItsOutcome(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		work := newFakeWork()
		work.states = map[int64]webhook.FanOutState{
			2: {Error: "no such table"}, 3: {SetAside: true, Error: "claimed 5 times"}, 4: {},
		}
		c := NewClient(q)
		start(t, c.Run)
		start(t, NewWorker(q, work, work).Run)
		for audit := range int64(4) {
			c.Committed(audit+1, "w")
		}
		info := await(t, q, queueChanges, taskFanOut+":1", asynq.TaskStateCompleted)
		if string(info.Payload) != `{"audit":1,"write":"w"}` || rows(t, info) != 3 || info.Retention != retention {
			t.Errorf("a fan-out: %s, result %s, retention %s", info.Payload, info.Result, info.Retention)
		}
		if info = await(t, q, queueChanges, taskFanOut+":2", asynq.TaskStateRetry); info.LastErr != "no such table" {
			t.Errorf("a fan-out that failed: %s", info.LastErr)
		}
		if info = await(t, q, queueChanges, taskFanOut+":3", asynq.TaskStateArchived); !strings.Contains(info.LastErr, "claimed 5 times") {
			t.Errorf("a fan-out that was set aside: %s", info.LastErr)
		}
		await(t, q, queueChanges, taskFanOut+":4", asynq.TaskStateActive)

		at := time.Now().Add(time.Hour).Truncate(time.Second)
		c.WakeAt("s1", at)
		if info = await(t, q, queueChanges, wakeTask("s1", at).fullID(), asynq.TaskStateScheduled); !info.NextProcessAt.Equal(at) {
			t.Errorf("a retry at %s is scheduled at %s", at, info.NextProcessAt)
		}
		c.Accepted("r1")
		info = await(t, q, queueRequests, taskExecute+":r1", asynq.TaskStateCompleted)
		if string(info.Payload) != `{"request":"r1"}` || rows(t, info) != 5 || info.Retention != requestRetention {
			t.Errorf("a request: %s, result %s, retention %s", info.Payload, info.Result, info.Retention)
		}
	})
}

func TestTheQueueShowsPeriodicRuns(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		second := make(chan int64, 2)
		work := func(name string, err error) Periodic {
			return Periodic{Name: name, Every: time.Hour, Run: func(context.Context) error {
				second <- time.Now().Unix()
				return err
			}}
		}
		began := time.Now().Unix()
		start(t, NewScheduler(q, nil, nil, work("x:good", nil), work("x:bad", errors.New("no"))).Run)
		receive(t, second, "a run")
		receive(t, second, "another run")
		for name, state := range map[string]asynq.TaskState{"x:good": asynq.TaskStateCompleted, "x:bad": asynq.TaskStateArchived} {
			id := ""
			inspector := asynq.NewInspectorFromRedisClient(q.redis)
			for s := began; id == "" && s <= time.Now().Unix(); s++ {
				if _, err := inspector.GetTaskInfo(queuePeriodic, periodicTask(name, time.Unix(s, 0)).fullID()); err == nil {
					id = periodicTask(name, time.Unix(s, 0)).fullID()
				}
			}
			await(t, q, queuePeriodic, id, state)
		}
	})
}

func TestPendingTasksAreBounded(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		c := NewClient(q)
		if testing.Short() {
			c.maxPending = 300
		}
		most := int64(c.maxPending)
		for i := range most + 1 {
			c.enqueue(t.Context(), fanOutTask(i, "w"))
		}
		c.pendingAt = time.Time{}
		for i := range int64(100) {
			c.enqueue(t.Context(), fanOutTask(most+1+i, "w"))
		}
		info, err := c.inspector.GetQueueInfo(queueChanges)
		if err != nil || int64(info.Pending) != most+1 {
			t.Errorf("%d tasks: %v", info.Pending, err)
		}
	})
}
