package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hibiken/asynq"
)

// queued enqueues one asynq task per body while an asynq server runs the tasks. Each task posts its
// body to a receiver. queued returns the number of tasks per second. url is the URL of Redis.
func queued(ctx context.Context, url string, bodies [][]byte) (float64, error) {
	to, err := newReceiver(nil, false)
	if err != nil {
		return 0, err
	}
	defer to.server.Close()
	redis, err := asynq.ParseRedisURI(url)
	if err != nil {
		return 0, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 64, Queues: map[string]int{"bench": 1}, LogLevel: asynq.FatalLevel})
	err = server.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(t.Payload()))
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Body.Close()
	}))
	if err != nil {
		return 0, err
	}
	defer server.Shutdown()
	tasks := asynq.NewClient(redis)
	defer tasks.Close()
	began := time.Now()
	for _, body := range bodies {
		if _, err := tasks.EnqueueContext(ctx, asynq.NewTask("post", body), asynq.Queue("bench")); err != nil {
			return 0, err
		}
	}
	last, _ := to.await(int64(len(bodies)))
	return float64(len(bodies)) / last.Sub(began).Seconds(), nil
}
