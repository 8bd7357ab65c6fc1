package engine

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Engine describes a database server.
type Engine struct {
	Server string // its name and version, such as "MariaDB 10.11.6"
	Mode   string // such as "single server" and "Galera node, cluster of 3"
	Means  string // a sentence that says which servers accept writes
	Writes bool   // true if its configuration allows writes

	facts facts
	query string // statement that reads the variables that may change
}

// facts maps variables of a server to their values, and also the state of a cluster node. The keys
// are the names of the variables in lower case.
type facts map[string]string

// readOnly are the variables that make a server read-only. If several of them are on, the first one
// is shown as the reason.
var readOnly = []string{"super_read_only", "read_only", "innodb_read_only", "tidb_super_read_only", "tidb_restricted_read_only"}

// constant are the variables that identify a server.
var constant = []string{"version", "version_comment", "aurora_version", "wsrep_on", "wsrep_provider", "group_replication_single_primary_mode"}

// rejects is the variable with which an operator makes a Galera node refuse queries.
const rejects = "wsrep_reject_queries"

// nodeStatus are the status variables of a Galera node.
var nodeStatus = []string{"wsrep_ready", "wsrep_cluster_status", "wsrep_cluster_size", "wsrep_local_state_comment"}

func (f facts) on(name string) bool {
	v := f[name]
	return v != "" && v != "0" && !strings.EqualFold(v, "OFF")
}

func (f facts) galera() bool {
	return f.on("wsrep_on") && f["wsrep_provider"] != "" && f["wsrep_provider"] != "none"
}

func (f facts) mariadb() bool { return strings.Contains(f["version"], "-MariaDB") }

// Name returns the name and number of a server with this version, such as "MariaDB 10.11.6".
func Name(version string) string { return facts{"version": version}.server() }

// server returns the name and version of a server.
func (f facts) server() string {
	number, rest, _ := strings.Cut(f["version"], "-")
	if _, tidb, ok := strings.Cut(rest, "TiDB-v"); ok {
		number, _, _ = strings.Cut(tidb, "-")
		return "TiDB " + number
	}
	switch {
	case strings.Contains(rest, "MariaDB"):
		return "MariaDB " + number
	case f["aurora_version"] != "":
		return "Aurora MySQL " + number
	}
	return "MySQL " + number
}

// refusal returns why a server does not accept writes now, or "" if it accepts them.
func (f facts) refusal() string {
	for _, name := range readOnly {
		if f.on(name) {
			return "the server is read-only (" + name + ")"
		}
	}
	if f.galera() {
		switch state := f["wsrep_local_state_comment"]; {
		case f["wsrep_cluster_status"] != "Primary":
			return "the node is not in the primary component of its cluster (wsrep_cluster_status is " + f["wsrep_cluster_status"] + ")"
		case !f.on("wsrep_ready"):
			return "the node does not take statements (wsrep_ready is OFF)"
		case f[rejects] != "" && f[rejects] != "NONE":
			return "the node does not take statements (" + rejects + ")"
		case state != "Synced" && !strings.HasPrefix(state, "Donor"): // a donor still works
			return "the node lacks writes of the other nodes (wsrep_local_state_comment is " + state + ")"
		}
	}
	switch {
	case f["member_state"] != "" && f["member_state"] != "ONLINE":
		return "the member of the replication group is " + f["member_state"]
	case f["member_role"] == "SECONDARY":
		return "the member of the replication group is a secondary"
	}
	return ""
}

// Of returns the description of a server with these variables.
func Of(variables map[string]string) *Engine {
	f := facts(variables)
	e := &Engine{Server: f.server(), Writes: true, facts: f}
	isReadOnly := slices.ContainsFunc(readOnly, f.on)
	switch {
	case f.galera():
		e.Mode = "Galera node, cluster of " + f["wsrep_cluster_size"]
		e.Means = "writes may go to any node; if two nodes write the same rows, one of the two writes runs again"
	case f["member_state"] != "" && f.on("group_replication_single_primary_mode"):
		e.Mode, e.Means = "group replication, single-primary", "writes go to this member; another member takes over when it fails"
	case f["member_state"] != "":
		e.Mode = "group replication, multi-primary"
		e.Means = "writes may go to any member; those of two members to the same rows collide, and one runs again"
	case isReadOnly:
		e.Mode = "read-only"
	case strings.HasPrefix(e.Server, "TiDB "):
		e.Mode, e.Means = "cluster", "writes may go to any TiDB server"
	case f["aurora_version"] != "":
		e.Mode, e.Means = "writer", "writes go to this instance; another instance takes over when it fails"
	default:
		e.Mode, e.Means = "single server", "writes go to this server"
	}
	if isReadOnly || f["member_role"] == "SECONDARY" {
		e.Writes, e.Means = false, "this is a replica, or was made read-only: alds cannot write here"
	}
	return e
}

// query returns a statement that reads the variables that may change, in one row. If group is true,
// it also reads the state of this server as a member of a replication group. Each value has its own
// expression: MariaDB truncates the texts of variables in a UNION, and reads them as 0 beside an
// aggregate.
func (f facts) query(group bool) string {
	columns := []string{"1 AS answers"}
	for _, name := range append(slices.Clone(readOnly), rejects) {
		if _, ok := f[name]; ok && (name != rejects || f.galera()) {
			columns = append(columns, "@@GLOBAL."+name+" AS "+name)
		}
	}
	switch {
	case f.galera():
		from := "performance_schema"
		if f.mariadb() {
			from = "information_schema"
		}
		for _, name := range nodeStatus {
			columns = append(columns, "(SELECT variable_value FROM "+from+".global_status WHERE variable_name = '"+name+"') AS "+name)
		}
	case group:
		for _, name := range []string{"member_state", "member_role"} {
			columns = append(columns, "(SELECT "+name+" FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid) AS "+name)
		}
	}
	return "SELECT " + strings.Join(columns, ", ")
}

// Find determines the kind and state of the server that a pool connects to.
// Errors: those of sqlerror.Fault.
func Find(ctx context.Context, pool *sql.DB) (*Engine, error) {
	f := facts{}
	names := "'" + strings.Join(slices.Concat(constant, readOnly, []string{rejects}), "', '") + "'"
	rows, err := pool.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+names+")")
	if err != nil {
		return nil, sqlerror.Fault(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, sqlerror.Fault(err)
		}
		f[strings.ToLower(name)] = value
	}
	if err := rows.Err(); err != nil {
		return nil, sqlerror.Fault(err)
	}
	query := f.query(!f.mariadb())
	err = f.read(ctx, pool, query)
	if sqlerror.FromServer(err) && fault.KindOf(err) == fault.Internal {
		query = f.query(false) // the table of the group does not exist, or the user must not read it
		err = f.read(ctx, pool, query)
	}
	if err != nil {
		return nil, err
	}
	e := Of(f)
	e.query = query
	return e, nil
}

// read runs a query that returns one row, and adds the columns of the row to f.
func (f facts) read(ctx context.Context, pool *sql.DB, query string) error {
	rows, err := pool.QueryContext(ctx, query)
	if err != nil {
		return sqlerror.Fault(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return sqlerror.Fault(err)
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return sqlerror.Fault(err)
		}
		for i, name := range names {
			f[strings.ToLower(name)] = values[i].String
		}
	}
	return sqlerror.Fault(rows.Err())
}

// Refusal returns why the server does not accept writes now, or "" if it accepts them.
// Errors: as for Find. fault.Internal means that the pool now connects to another server.
func (e *Engine) Refusal(ctx context.Context, pool *sql.DB) (why string, err error) {
	f := facts{}
	for _, name := range constant {
		f[name] = e.facts[name]
	}
	if err := f.read(ctx, pool, e.query); err != nil {
		return "", err
	}
	return f.refusal(), nil
}

// CatchesUp returns a session variable and its value. With this value, a statement waits until its
// node has applied everything that the cluster has committed. Both results are empty for a server
// that executes all writes of its cluster itself.
func (e *Engine) CatchesUp() (variable, value string) {
	switch {
	case e.facts.galera():
		return "wsrep_sync_wait", "1"
	case strings.EqualFold(e.facts["group_replication_single_primary_mode"], "OFF"):
		return "group_replication_consistency", "'BEFORE'"
	}
	return "", ""
}
