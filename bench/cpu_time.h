// CPU seconds of this process by what its threads are for, told from their names: Sluice's
// background threads are slc-flush, slc-compact and slc-driver, and slc-log, which does a part of
// what writers do, counts with these; slc-card stands for a card; RocksDB's are rocksdb:high (it
// flushes) and rocksdb:low, LevelDB's, which flushes and compacts, leveldb.
//
// Linux only. Threads that end between two calls are counted in `other`.

#pragma once

namespace sluice::bench {

struct CpuSeconds {
  double foreground = 0;  // of threads that run the workload; they measure themselves; and slc-log
  double flush = 0;
  double compaction = 0;  // and LevelDB's flush
  double driver = 0;      // talks to the device
  double other = 0;
  double card = 0;  // simulates a card, or models it: no time of the host's

  double Host() const { return foreground + flush + compaction + driver + other; }
  // What compactions took of the host's time, without flushes and readers.
  double HostCompaction() const { return compaction + driver + other; }
};

// The background threads that live now, since each began; `other` is what the process has used
// beyond that: its own foreground threads, and what the kernel does in threads of its own for
// io_uring.
CpuSeconds BackgroundCpu();

}  // namespace sluice::bench
