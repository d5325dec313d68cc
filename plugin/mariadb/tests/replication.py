"""Servers that replicate to each other, each on a loopback address of its own."""

import os
import pathlib
import re
import socket
import subprocess
import time

import server

ROOT = pathlib.Path(__file__).resolve().parents[3] / "build/mariadb/root"
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(ROOT / "usr/lib/x86_64-linux-gnu")}  # of its programs
WAIT = 600  # seconds, for what takes one or two on a machine that is not busy


class Port:
    """The port that all servers of a test listen on, each on its own address; no other test gets it meanwhile."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.100", 0))
        self.number = self.socket.getsockname()[1]

    def close(self):
        self.socket.close()


class Node(server.Server):
    """A server that others reach at 127.0.0.`number`, as the user that can read and write database d, and replicate."""

    ACCOUNT = {"USER": "cluster", "PASSWORD": "cluster"}

    def __init__(self, port, number, *options):
        self.address, self.port = f"127.0.0.{number}", port.number
        super().__init__("--skip-networking=0", f"--bind-address={self.address}", f"--port={self.port}", "--skip-name-resolve",
                         f"--server-id={number}", *options)
        self.run("SET sql_log_bin = 0; CREATE DATABASE d; CREATE USER cluster IDENTIFIED BY 'cluster';"
                 "GRANT ALL ON d.* TO cluster; GRANT REPLICATION SLAVE ON *.* TO cluster")

    def rows(self, sql, database="d"):
        return [line.split("\t") for line in self.run(sql, database).splitlines()[1:]]

    def value(self, sql, database="d"):
        return self.rows(sql, database)[0][0]

    def status(self, name):
        return self.value(f"SELECT variable_value FROM information_schema.global_status WHERE variable_name = '{name}'")

    def prepared(self):
        """The XIDs of prepared transactions, as SQL has them."""
        return sorted({row[3] for row in self.rows("XA RECOVER FORMAT='SQL'")})


class Replicating(Node):
    """One whose binary log has all that it has done, or that its primary has."""

    OPTIONS = ("--log-bin=binlog", "--log-slave-updates", "--binlog-format=ROW", "--sync-binlog=1", "--gtid-strict-mode=ON",
               "--gtid-pos-auto-engines=SLUICE", "--default-storage-engine=SLUICE", "--skip-slave-start",
               "--sluice-lock-wait-timeout=2", "--rpl-semi-sync-slave-enabled=ON",
               "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
               "--rpl-semi-sync-master-timeout=3600000")  # an hour: it must never go on without a replica

    def __init__(self, port, number, domain=0):
        super().__init__(port, number, f"--gtid-domain-id={domain}", *self.OPTIONS)

    def follow(self, primary):
        """Replicates from the primary, whose commits wait for this from now on."""
        self.run(f"STOP SLAVE; SET GLOBAL read_only = ON; CHANGE MASTER TO MASTER_HOST = '{primary.address}', MASTER_PORT = {primary.port},"
                 "MASTER_USER = 'cluster', MASTER_PASSWORD = 'cluster', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1")
        primary.run("SET GLOBAL rpl_semi_sync_master_enabled = ON")
        self.run("START SLAVE")
        await_true(lambda: primary.status("Rpl_semi_sync_master_clients") == "1", f"{self.address} does not follow", self)

    def copy(self, primary):
        """Takes what the primary has, and its place in the binary log. What is prepared is not in a dump: nothing may be."""
        dump = subprocess.run(
            [ROOT / "usr/bin/mariadb-dump", "--no-defaults", "--user=root", f"--socket={primary.directory.name}/socket",
             "--single-transaction", "--master-data", "--gtid", "d"], text=True, capture_output=True, check=True, env=ENVIRONMENT)
        self.run(f"SET sql_log_bin = 0;\n{dump.stdout}", "d")

    def logged_xa(self):
        """What the binary logs have of XA transactions, in order: XIDs as SQL has them, with PREPARE, COMMIT or ROLLBACK."""
        for (log, _) in self.rows("SHOW BINARY LOGS"):
            for how, xid in re.findall(r"^XA (PREPARE|COMMIT|ROLLBACK) (X'.*?',X'.*?',\d+)", self.binlog(log), re.MULTILINE):
                yield xid, how

    def replica_status(self):
        return dict(re.findall(r"^ *(\w+): (.*)$", self.run("SHOW SLAVE STATUS\\G"), re.MULTILINE))

    def await_position(self, position):
        """Waits until all up to this GTID was done here."""
        def there():
            status = self.replica_status()
            if status["Slave_SQL_Running"] == "No":
                raise RuntimeError(f"{self.address} does not go on to {position}: {status['Last_SQL_Error']}")
            return self.value(f"SELECT MASTER_GTID_WAIT('{position}', 1)") == "0"

        await_true(there, f"{self.address} does not come to {position}", self)

    def await_primary(self, primary):
        self.await_position(primary.value("SELECT @@gtid_binlog_pos"))


def await_true(condition, complaint, node=None):
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{complaint}: {node.replica_status() if node else ''}")
        time.sleep(.05)
