package engine

import (
	"strings"
	"testing"
)

// TestEngines checks the Engine for the variables of various servers.
func TestEngines(t *testing.T) {
	const mariadb, mysql9 = "10.11.19-MariaDB-0+deb12u1", "9.7.4-2"
	galera := facts{
		"version": "10.6.18-MariaDB-log", "wsrep_on": "ON", "wsrep_provider": "/usr/lib/galera/libgalera_smm.so", "read_only": "OFF",
		"wsrep_ready": "ON", "wsrep_cluster_status": "Primary", "wsrep_cluster_size": "3", "wsrep_local_state_comment": "Synced",
	}
	group := facts{"version": mysql9, "read_only": "OFF", "super_read_only": "OFF", "group_replication_single_primary_mode": "ON", "member_state": "ONLINE", "member_role": "PRIMARY"}
	for _, c := range []struct {
		name               string
		facts              facts
		server, mode       string
		means              string // a part of Engine.Means
		refuses            string // a part of the reason why the server accepts no writes; empty: it accepts writes
		asksStatus, asksPS bool   // the query reads the status of a Galera node; the query reads performance_schema
	}{
		{"MariaDB", facts{"version": mariadb, "wsrep_on": "OFF", "wsrep_provider": "none", "read_only": "OFF"}, "MariaDB 10.11.19", "single server", "writes go to this server", "", false, false},
		{"MySQL", facts{"version": mysql9, "read_only": "OFF", "super_read_only": "OFF"}, "MySQL 9.7.4", "single server", "writes go to this server", "", false, false},
		{"a replica", facts{"version": mariadb, "read_only": "ON"}, "MariaDB 10.11.19", "read-only", "cannot write here", "read_only", false, false},
		{"a replica by number", facts{"version": mariadb, "read_only": "1"}, "MariaDB 10.11.19", "read-only", "cannot write here", "read_only", false, false},
		{"MariaDB 12", facts{"version": "12.1.2-MariaDB", "read_only": "NO_LOCK"}, "MariaDB 12.1.2", "read-only", "cannot write here", "read_only", false, false},
		{"not for administrators either", facts{"version": mysql9, "read_only": "ON", "super_read_only": "ON"}, "MySQL 9.7.4", "read-only", "cannot write here", "read_only", false, false},
		{"a node", galera, "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "", true, false},
		{"a donor", galera.and("wsrep_local_state_comment", "Donor/Desynced"), "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "", true, false},
		{"a node that joins", galera.and("wsrep_local_state_comment", "Joined"), "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "Joined", true, false},
		{"a node that is not ready", galera.and("wsrep_ready", "OFF"), "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "wsrep_ready", true, false},
		{"a node that lost the others", galera.and("wsrep_cluster_status", "non-Primary"), "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "non-Primary", true, false},
		{"a node that refuses queries", galera.and("wsrep_reject_queries", "ALL"), "MariaDB 10.6.18", "Galera node, cluster of 3", "any node", "wsrep_reject_queries", true, false},
		{"a node that is read-only", galera.and("read_only", "ON"), "MariaDB 10.6.18", "Galera node, cluster of 3", "cannot write here", "read_only", true, false},
		{"Percona's node", facts{"version": "8.0.36-28.1", "version_comment": "Percona XtraDB Cluster (GPL)", "wsrep_on": "ON", "wsrep_provider": "/usr/lib/libgalera_smm.so", "wsrep_ready": "ON", "wsrep_cluster_status": "Primary", "wsrep_cluster_size": "5", "wsrep_local_state_comment": "Synced"}, "MySQL 8.0.36", "Galera node, cluster of 5", "any node", "", true, true},
		{"a primary", group, "MySQL 9.7.4", "group replication, single-primary", "another member takes over", "", false, true},
		{"a secondary", group.and("member_role", "SECONDARY"), "MySQL 9.7.4", "group replication, single-primary", "cannot write here", "secondary", false, true},
		{"of several primaries", group.and("group_replication_single_primary_mode", "OFF"), "MySQL 9.7.4", "group replication, multi-primary", "any member", "", false, true},
		{"a member that recovers", group.and("member_state", "RECOVERING"), "MySQL 9.7.4", "group replication, single-primary", "another member takes over", "RECOVERING", false, true},
		{"TiDB", facts{"version": "8.0.11-TiDB-v7.5.1", "tidb_super_read_only": "OFF"}, "TiDB 7.5.1", "cluster", "any TiDB server", "", false, false},
		{"TiDB that is read-only", facts{"version": "5.7.25-TiDB-v6.5.0", "tidb_super_read_only": "ON"}, "TiDB 6.5.0", "read-only", "cannot write here", "tidb_super_read_only", false, false},
		{"Aurora", facts{"version": "8.0.32", "aurora_version": "3.06.0", "innodb_read_only": "OFF"}, "Aurora MySQL 8.0.32", "writer", "another instance takes over", "", false, false},
		{"a reader of Aurora", facts{"version": "8.0.32", "aurora_version": "3.06.0", "innodb_read_only": "ON", "read_only": "ON"}, "Aurora MySQL 8.0.32", "read-only", "cannot write here", "read_only", false, false},
	} {
		e := Of(c.facts)
		why := c.facts.refusal()
		if e.Server != c.server || e.Mode != c.mode || !strings.Contains(e.Means, c.means) || e.Writes != !strings.Contains(c.means, "cannot write") {
			t.Errorf("%s: %+v", c.name, e)
		}
		if (why == "") != (c.refuses == "") || !strings.Contains(why, c.refuses) {
			t.Errorf("%s: refuses because of %q, want %q", c.name, why, c.refuses)
		}
		query := c.facts.query(c.asksPS && !c.asksStatus)
		if strings.Contains(query, "wsrep_ready") != c.asksStatus || strings.Contains(query, "performance_schema") != c.asksPS {
			t.Errorf("%s: %s", c.name, query)
		}
	}
}

// This method returns a copy of f in which one variable has another value.
func (f facts) and(name, value string) facts {
	g := facts{name: value}
	for n, v := range f {
		if n != name {
			g[n] = v
		}
	}
	return g
}
