package app

import (
	"context"
	"os"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/operate/system"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/write/requests"
)

// buildSystem builds the service that reports the state of the installation to administrators.
func (s *service) buildSystem() {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s.process = processes.New(s.DB, processes.Self{Role: s.role.Name, Version: release.Version(), Host: host}, s.slowest, processes.Options{Log: s.component("processes"), Metrics: s.metrics})
	s.system = system.New(s.DB, system.Options{
		Version: release.Version(), Commit: release.Built().Commit, CommitDate: release.Built().Date, Process: s.process.ID(), Dashboards: s.cfg.DashboardsURL,
		Work: s.work, Queue: s.tasks, Check: s.Check, Changed: s.modelChanged, Log: s.component("system"),
	})
}

// work counts the work that waits in the database.
func (s *service) work(ctx context.Context, q db.Querier) (w system.Work, err error) {
	if w.WaitingChanges, w.SetAsideChanges, err = webhook.Backlog(ctx, q); err != nil {
		return w, err
	}
	if w.DueDeliveries, w.LaterDeliveries, err = delivery.Backlog(ctx, q, s.DB.Dialect); err != nil {
		return w, err
	}
	if w.Paused, w.Resting, err = delivery.Receivers(ctx, q, s.DB.Dialect); err != nil {
		return w, err
	}
	w.AcceptedRequests, err = requests.Backlog(ctx, q)
	return w, err
}

// tasks counts the tasks that wait in the queue.
func (s *service) tasks(ctx context.Context) (system.Tasks, error) {
	d, err := s.client.Depth(ctx)
	return system.Tasks(d), err
}
