"""A server of a test's own, in a directory that vanishes with it."""

import contextlib
import os
import pathlib
import random
import subprocess
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "server"


class Server:
    def __init__(self, *options):
        self.directory = tempfile.TemporaryDirectory(prefix="sluice.")
        self.options = options
        self.start()

    def _do(self, command, *options):
        subprocess.run([SCRIPT, command, self.directory.name, *options], check=True)

    def start(self):
        self._do("start", *self.options)

    def stop(self):
        self._do("stop")

    def kill(self):
        self._do("kill")

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self._do("kill")
        self.directory.cleanup()

    def client(self, *options):
        """The command of a client."""
        return [SCRIPT, "client", self.directory.name, *options]

    def run(self, sql, database="", force=False):
        """What the client prints; with `force` it goes on after errors, and prints those, too."""
        command = self.client("--batch", "--raw", *(["--verbose", "--unbuffered"] if force else []), *(["--force"] if force else []), database)
        done = subprocess.run(command, input=sql, text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0 and not force:
            raise RuntimeError(f"{sql}\n{done.stdout}")
        return done.stdout

    def binlog(self, log, *options):
        """A binary log as statements, as far as it goes."""
        done = subprocess.run([SCRIPT, "binlog", self.directory.name, log, *options], capture_output=True, text=True, errors="replace",
                              check=False)
        if done.returncode != 0 and "ERROR" not in done.stderr:
            raise RuntimeError(done.stderr)
        return done.stdout


def seed():
    """The environment's SLUICE_SEED, or a fresh seed; printed, so that a failure can be replayed."""
    value = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SLUICE_SEED={value}", flush=True)
    return value


class Connection:
    """One connection, whose statements are answered one after the other."""

    def __init__(self, running, database=""):
        self.process = subprocess.Popen(
            # A new connection would know nothing of the transaction of the old one.
            running.client("--batch", "--raw", "--skip-column-names", "--force", "--unbuffered", "--skip-reconnect", database),
            text=True, errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.sent = 0

    def send(self, sql):
        """Sends statements, and does not wait for their answer."""
        self.sent += 1
        self.process.stdin.write(f"{sql};\nSELECT 'answered {self.sent}';\n")
        self.process.stdin.flush()

    def receive(self):
        """What was answered: rows as `a,b`, joined by spaces; of errors their number, as `E1062`."""
        lines = []
        echoed = False  # the client prints a statement before its error
        while (line := self.process.stdout.readline()) != f"answered {self.sent}\n":
            if line == "" or line.startswith(("ERROR 2006 ", "ERROR 2013 ")):
                raise RuntimeError(f"the connection ended: {lines} {line}")
            if line == "--------------\n":
                echoed = not echoed
            elif not echoed and line != "\n":
                lines.append(f"E{line.split()[1]}" if line.startswith("ERROR ") else line.rstrip("\n").replace("\t", ","))
        return " ".join(lines)

    def do(self, sql):
        self.send(sql)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()
