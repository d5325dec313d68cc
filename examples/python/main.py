"""Writes, reads and a transaction: main.py DIRECTORY."""

import sys

import sluice

with sluice.open(sys.argv[1], create_if_missing=True) as db:
    with db.batch() as batch:
        batch[b"runs/1"] = b"5.2 km"
        batch[b"runs/2"] = b"8.0 km"
    with db.transaction() as transaction:
        count = int(transaction.get_for_update(b"count", b"0"))
        transaction[b"count"] = b"%d" % (count + 2)
    for key, value in db.items(prefix=b"runs/", reverse=True):
        print(key.decode(), value.decode())
    print("runs:", db[b"count"].decode())
